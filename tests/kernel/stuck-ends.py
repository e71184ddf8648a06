#!/usr/bin/env python3
"""stuck-ends.py - who could end a wait, where that is easily overlooked: no deadlock where a time limit or somebody
else could end it, and nobody named by a number that says nothing.

Each case is a short program that says "ready" when it is about to be stuck.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

PYTHON = "/usr/bin/python3"
SETTLED_S = 30
BEGIN = """
import ctypes, ctypes.util, fcntl, mmap, os, select, socket, struct, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def name(word):
    libc.prctl(15, word.encode())
def ready():
    print("ready", flush=True)
def mutexes(is_shared, is_robust=0):
    memory = mmap.mmap(-1, 4096) if is_shared else bytearray(4096)
    attr = ctypes.create_string_buffer(64)
    libc.pthread_mutexattr_init(attr)
    libc.pthread_mutexattr_setpshared(attr, is_shared)
    libc.pthread_mutexattr_setrobust(attr, is_robust)
    for at in (0, 128):
        libc.pthread_mutex_init(ctypes.byref(ctypes.c_char.from_buffer(memory, at)), attr)
    return [ctypes.byref(ctypes.c_char.from_buffer(memory, at)) for at in (0, 128)]
def lock(mutex):
    libc.pthread_mutex_lock(mutex)
"""
PAIR = "one, other = socket.socketpair()\n"
TCP = """
listener = socket.create_server(("127.0.0.1", 0))
one = socket.create_connection(listener.getsockname())
other, _ = listener.accept()
listener.close()
"""
LIMIT = "other.setsockopt(socket.SOL_SOCKET, socket.%s, struct.pack('ll', 1000, 0))\n"
# Each reads what the other one does not send.
BOTH_READ = """
if os.fork() == 0:
    other.close(); name("one"); os.read(one.fileno(), 1)
one.close(); name("other"); ready(); os.read(other.fileno(), 1)
"""
BOTH_WRITE = """
if os.fork() == 0:
    other.close(); name("one")
    while True: os.write(one.fileno(), bytes(4096))
one.close(); name("other"); ready()
while True: os.write(other.fileno(), bytes(4096))
"""
USER_TIMEOUT = "other.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1000000)\n"
# The thread that locked it has ended, and its number is another's: who seems to have it, waits for the waiter.
REUSED = """
first, second = mutexes(0)
def dies():
    global number
    number = threading.get_native_id(); lock(first)
def waits():
    name("waits"); lock(second); lock(first)
def young():
    name("young"); lock(second)
def start(run):
    thread = threading.Thread(target=run, daemon=True); thread.start(); return thread
start(dies).join(); start(waits); time.sleep(0.5)
with open("/proc/sys/kernel/ns_last_pid", "w") as file: file.write(str(number - 1))
start(young); name("main"); ready(); time.sleep(1000)
"""
# As it is without such a number: an owner that is younger than its mutex, but not than the wait.
ABBA = """
locks = mutexes(0, %d)
both = threading.Barrier(2)
def take(first, second):
    lock(locks[first]); both.wait(); lock(locks[second])
for order in ((0, 1), (1, 0)): threading.Thread(target=take, args=order, daemon=True).start()
ready(); %s
"""
# The main thread ends before the others.
ENDED = ABBA % (0, "libc.syscall(60, 0)")
# In two PID namespaces, both the first process of theirs.
SPACES = """
locks = mutexes(1)
for order in ((0, 1), (1, 0)):
    if os.fork() == 0:
        libc.unshare(0x20000000)
        if os.fork() == 0:
            name("inner"); lock(locks[order[0]]); time.sleep(0.3); lock(locks[order[1]])
        name("outer"); os.wait()
ready(); time.sleep(1000)
"""
ONE_SPACE = """
locks = mutexes(1)
for order in ((0, 1), (1, 0)):
    if os.fork() == 0:
        name("inner"); lock(locks[order[0]]); time.sleep(0.3); lock(locks[order[1]])
ready(); time.sleep(1000)
"""
TRACED = """
locks = mutexes(1)
child = os.fork()
if child == 0:
    name("traced"); lock(locks[0]); libc.ptrace(0, 0, 0, 0); os.kill(os.getpid(), 10)
os.waitpid(child, 0); name("tracer"); ready(); lock(locks[0])
"""
GROUP = """
child = os.fork()
if child == 0:
    libc.prctl(1, 9); name("wanted"); time.sleep(1000)
os.setpgid(child, child)
if os.fork() == 0:
    name("other"); time.sleep(1000)
ready(); os.waitpid(-child, 0)
"""
# Another process has the set, and could add to it.
SHARED_SET = """
there, back = os.pipe(), os.pipe()
set = select.epoll(); set.register(back[0], select.EPOLLIN)
if os.fork() == 0:
    name("polls"); os.close(back[1]); os.close(there[0]); set.poll()
if os.fork() == 0:
    name("reads"); set.close(); os.close(there[1]); os.close(back[0]); os.read(there[0], 1)
for fd in there + back: os.close(fd)
name("keeps"); ready(); time.sleep(1000)
"""
NESTED_SET = """
pipe = os.pipe()
if os.fork() == 0:
    name("writes"); os.close(pipe[0]); time.sleep(1000)
os.close(pipe[1])
inner, outer = select.epoll(), select.epoll()
inner.register(pipe[0], select.EPOLLIN); outer.register(inner.fileno(), select.EPOLLIN)
ready(); outer.poll()
"""
UNSET_TIMER = "timer = libc.timerfd_create(1, 0); ready(); os.read(timer, 8)\n"
# A ring could wake it. Without io_uring it sleeps.
RING = """
import signal
signal.signal(signal.SIGTERM, lambda *unused: None)
kept = threading.Lock(); kept.acquire()
if libc.syscall(425, 4, ctypes.create_string_buffer(120)) < 0: ready(); time.sleep(1000)
ready(); kept.acquire()
"""
WITH_RING = '(ready(), time.sleep(1000)) if libc.syscall(425, 4, ctypes.create_string_buffer(120)) < 0 else None; name("other")'
# Messages: to a connected socket with a name, and to a name.
MESSAGES = """
ends = [socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in "ab"]
for end, path in zip(ends, "ab"): end.bind(path)
ends[0].connect("b"); ends[1].connect("a")
if os.fork() == 0:
    ends[1].close(); name("one"); ends[0].recv(1)
ends[0].close(); name("other"); ready(); ends[1].recv(1)
"""
TO_A_NAME = """
takes = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); takes.bind(os.path.realpath("name"))
if os.fork() == 0:
    takes.close(); name("sends"); sends = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    while True: sends.sendto(b"x", os.path.realpath("name"))
name("takes"); ready(); os.wait()
"""
SENDFILE = """
one, other = socket.socketpair()
with open("file", "wb") as file: file.truncate(1 << 24)
if os.fork() == 0:
    one.close(); name("takes"); time.sleep(1000)
other.close(); ready()
with open("file", "rb") as file: os.sendfile(one.fileno(), file.fileno(), 0, 1 << 24)
"""
CONNECTS = """
listener = socket.socket(); listener.bind(("127.0.0.1", 0)); listener.listen(0)
if os.fork() == 0:
    name("connects"); clients = []; where = listener.getsockname(); listener.close()
    while True: clients.append(socket.socket()); clients[-1].connect(where)
name("listens"); ready(); time.sleep(1000)
"""
# Two readers have it; one of them waits for who wants to write, the other one sleeps.
TWO_READERS = """
pipe = os.pipe()
def opened(how):
    file = open("locked", "a+"); fcntl.flock(file, how); return file
if os.fork() == 0:
    name("stuck"); os.close(pipe[1]); file = opened(fcntl.LOCK_SH); os.read(pipe[0], 1)
if os.fork() == 0:
    name("sleeps"); os.close(pipe[0]); os.close(pipe[1]); file = opened(fcntl.LOCK_SH); time.sleep(1000)
time.sleep(0.3)
if os.fork() == 0:
    name("writes"); os.close(pipe[0]); file = opened(fcntl.LOCK_EX)
os.close(pipe[0]); os.close(pipe[1]); ready(); time.sleep(1000)
"""
# The same of who shares a lock: either of them could let it go.
SHARED_LOCK = """
pipe = os.pipe()
file = open("locked", "a+"); fcntl.flock(file, fcntl.LOCK_EX)
if os.fork() == 0:
    name("shares"); os.close(pipe[0]); os.close(pipe[1]); time.sleep(1000)
if os.fork() == 0:
    name("wants"); file.close(); os.close(pipe[0]); mine = open("locked", "a+"); fcntl.flock(mine, fcntl.LOCK_EX)
os.close(pipe[1]); name("has"); ready(); os.read(pipe[0], 1)
"""


# A descriptor is on its way to one who sleeps: the other end of the pipe.
IN_A_MESSAGE = """
there, back = os.pipe(), os.pipe()
one, other = socket.socketpair()
socket.send_fds(one, [b"x"], [there[1]])
if os.fork() == 0:
    name("reads"); os.close(there[1]); os.close(back[0]); one.close(); other.close(); os.read(there[0], 1)
if os.fork() == 0:
    name("writes"); os.close(there[0]); os.close(back[1]); one.close(); other.close(); os.read(back[0], 1)
for fd in there + back: os.close(fd)
one.close(); name("takes"); ready(); time.sleep(1000)
"""
# Who is number 1 waits for any child: also for one that it gets when another one ends.
ADOPTS = """
pipe = os.pipe()
if os.fork() == 0:
    name("child"); os.close(pipe[1])
    if os.fork() == 0:
        name("another"); os.close(pipe[0]); time.sleep(1000)
    os.read(pipe[0], 1)
os.close(pipe[0]); name("first"); ready(); os.wait()
"""

# The same where the parent asked for it, whatever it is a child of.
SUBREAPER = "libc.prctl(36, 1, 0, 0, 0)\n" + ADOPTS
# All below a child are stuck, too.
STUCK_BELOW = """
pipe = os.pipe()
if os.fork() == 0:
    name("child"); os.close(pipe[1])
    if os.fork() == 0:
        name("another"); os.read(pipe[0], 1)
    os.wait()
os.close(pipe[0]); name("first"); ready(); os.wait()
"""
# The signal that a child has ended may end a call for something else; where all children are stuck, none comes.
ANOTHER_CHILD = """
import signal
signal.signal(signal.SIGCHLD, lambda *unused: None)
if os.fork() == 0: name("another"); time.sleep(1000)
""" + PAIR + BOTH_READ
NO_OTHER_CHILD = "import signal\nsignal.signal(signal.SIGCHLD, lambda *unused: None)\n" + PAIR + BOTH_READ
# connect() to a unix socket whose queue is full, of who waits for the one who connects.
QUEUED = """
pipe = os.pipe()
listener = socket.socket(socket.AF_UNIX)
listener.bind("\\0queued%d" % os.getpid())
listener.listen(0)
address = listener.getsockname()
if os.fork() == 0:
    name("listens"); os.close(pipe[1]); os.read(pipe[0], 1)
listener.close(); os.close(pipe[0]); name("connects")
others = [socket.socket(socket.AF_UNIX) for _ in range(2)]
others[0].connect(address)
LIMIT
ready(); others[1].connect(address)
"""
# A signal of a timer that ends a call; and one that does not, or does not come.
HANDLES = "import signal\nsignal.signal(signal.%s, lambda *unused: None)\n"
ALARM = HANDLES % "SIGALRM" + "signal.alarm(1000)\n"
# The timer is of the process that was there first.
TIMER = HANDLES % "SIGUSR2" + """
def set_timer():
    timer, event = ctypes.c_void_p(), (ctypes.c_int * 16)(0, 0, signal.SIGUSR2, 0)
    assert libc.timer_create(1, ctypes.byref(event), ctypes.byref(timer)) == 0
    assert libc.timer_settime(timer, 0, (ctypes.c_long * 4)(0, 0, 1000, 0), None) == 0
"""
BLOCKED = "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.%s})\n"


# In a PID namespace: who is outside has all ends of the pipes.
INSIDE = """
import os, subprocess, sys, time
there, back = os.pipe(), os.pipe()
inner = '''
import os, subprocess, sys, time
there, back = %r, %r
pids = []
for reads, keeps in ((there[0], back[1]), (back[0], there[1])):
    pids.append(os.fork())
    if pids[-1] == 0:
        for fd in set(there + back) - {reads, keeps}: os.close(fd)
        os.read(reads, 1)
for fd in there + back: os.close(fd)
time.sleep(0.5)
done = subprocess.run([sys.argv[1], "stuck", *map(str, pids)], capture_output=True, text=True)
print(done.returncode, done.stdout + done.stderr)
for pid in pids: os.kill(pid, 9)
''' % (there, back)
subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", inner, sys.argv[1]], pass_fds=there + back)
"""


class Case:
    """A program that was started with all its children, and the report on all of these."""

    def __init__(self, program, folder, *before):
        self.folder = os.path.join(folder, str(len(os.listdir(folder))))
        os.mkdir(self.folder)
        self.process = subprocess.Popen([*before, PYTHON, "-c", BEGIN + program], cwd=self.folder, process_group=0,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.status, self.text, self.threads, self.cycles = None, "", [], []

    def tasks(self):
        """All threads of the group: their process, number, state, and how often they ran."""
        found = set()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/stat" % pid, errors="replace") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
                if int(fields[3]) != os.getsid(0) or (int(fields[2]) != self.process.pid and int(fields[1]) != self.process.pid):
                    continue
                for tid in os.listdir("/proc/%s/task" % pid):
                    with open("/proc/%s/task/%s/stat" % (pid, tid), errors="replace") as file:
                        state = file.read().rsplit(")", 1)[1].split()[0]
                    with open("/proc/%s/task/%s/schedstat" % (pid, tid)) as file:
                        found.add((int(pid), int(tid), state, file.read().split()[2]))
            except (FileNotFoundError, ProcessLookupError):
                continue
        return found

    def look(self):
        """When nobody of them has run for a while."""
        self.process.stdout.readline()
        end, before, since = time.monotonic() + SETTLED_S, None, time.monotonic()
        while time.monotonic() < min(end, since + 0.6):
            now = self.tasks()
            if now != before:
                before, since = now, time.monotonic()
            time.sleep(0.05)
        pids = sorted({pid for pid, _, _, _ in before})
        done = kernel.holdup("stuck", "--json", *pids)
        self.status, self.text = done.returncode, done.stdout + done.stderr
        report = json.loads(done.stdout)
        self.threads = report["threads"]
        self.cycles = [sorted(self.one(tid)["comm"] for tid in cycle) for cycle in report["cycles"]]

    def one(self, which):
        """By its number or its name; a name that several have is not asked for."""
        return next(one for one in self.threads if which in (one["tid"], one["comm"]))

    def awaited(self, which):
        return [edge["comm"] for edge in self.one(which)["waits_for"]]

    def end(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def free(case):
    return case.status == 0 and not case.cycles


def limited(case):
    text = kernel.holdup("stuck", case.one("other")["tid"]).stdout
    return free(case) and "(with a time limit)" in text and case.awaited("other") == ["one"]


def deadlock(*comms):
    return lambda case: case.status == 1 and case.cycles == [sorted(comms)]


def doubted(case):
    """Who seems to have it is told, as inferred."""
    edges = case.one("waits")["waits_for"]
    return free(case) and [(edge["comm"], edge["how"].split(":")[0]) for edge in edges] == [("young", "inferred")]


def two_locks(case):
    return case.status == 1 and len(case.cycles) == 1 and len(case.cycles[0]) == 2


def ended(case):
    main = next(one for one in case.threads if one["tid"] == case.process.pid)
    others = [one for one in case.threads if one["tid"] != case.process.pid]
    return two_locks(case) and main["waits_for"] == [] and all(one["stack"] for one in others)


def nobody(case):
    inner = [one for one in case.threads if one["comm"] == "inner"]
    return free(case) and len(inner) == 2 and all(one["waits_for"] == [] for one in inner)


def unset(case):
    main = case.threads[0]
    return free(case) and "not set" in main["wait"]["object"] and "time" not in main["root"]


def connects(case):
    edges = case.one("connects")["waits_for"]
    return (free(case) and case.one("connects")["wait"]["object"].startswith("fd ")
            and "listens: inferred: listens there" in ["%s: %s" % (edge["comm"], edge["how"]) for edge in edges])


CASES = (
    (PAIR + LIMIT % "SO_RCVTIMEO" + BOTH_READ, limited, "a unix socket with SO_RCVTIMEO"),
    (PAIR + LIMIT % "SO_SNDTIMEO" + BOTH_WRITE, limited, "a unix socket with SO_SNDTIMEO"),
    (TCP + LIMIT % "SO_RCVTIMEO" + BOTH_READ, limited, "TCP with SO_RCVTIMEO"),
    (TCP + LIMIT % "SO_SNDTIMEO" + BOTH_WRITE, limited, "TCP with SO_SNDTIMEO"),
    (TCP + USER_TIMEOUT + BOTH_WRITE, limited, "TCP with TCP_USER_TIMEOUT"),
    (PAIR + LIMIT % "SO_SNDTIMEO" + BOTH_READ, deadlock("one", "other"), "a limit of the other direction"),
    (TCP + BOTH_WRITE, deadlock("one", "other"), "TCP without limits"),
    (ABBA % (0, "time.sleep(1000)"), two_locks, "two mutexes of threads of the same age"),
    (ENDED, ended, "two mutexes, and a main thread that ended"),
    (TRACED, deadlock("traced", "tracer"), "a mutex of a thread that its tracer stopped, who waits for it"),
    (GROUP, lambda case: free(case) and case.awaited(case.process.pid) == ["wanted"], "children of one process group"),
    (SHARED_SET, lambda case: free(case) and case.awaited("polls") == ["reads"], "an epoll set that another process has, too"),
    (NESTED_SET, lambda case: free(case) and case.awaited(case.process.pid) == ["writes"], "an epoll set in an epoll set"),
    (UNSET_TIMER, unset, "a timer that is not set"),
    (SUBREAPER, free, "a parent that may adopt a child"),
    (STUCK_BELOW, deadlock("another", "child", "first"), "a parent below whose children all are stuck"),
    (PAIR + BOTH_READ.replace('name("other")', ALARM.replace("\n", ";") + 'name("other")'), free, "an alarm, whose signal is handled"),
    (PAIR + BOTH_READ.replace('name("other")', (ALARM + BLOCKED % "SIGALRM").replace("\n", ";") + 'name("other")'),
     deadlock("one", "other"), "an alarm whose signal is blocked"),
    (ALARM + ABBA % (0, "time.sleep(1000)"), two_locks, "two mutexes, and an alarm"),
    (TIMER + PAIR + BOTH_READ.replace('name("other")', 'set_timer(); name("other")'), free, "a timer, whose signal is handled"),
    (TIMER + PAIR + BOTH_READ, deadlock("one", "other"), "a signal that is handled, and no timer"),
    (ANOTHER_CHILD, free, "a child that may end, and whose signal is handled"),
    (NO_OTHER_CHILD, deadlock("one", "other"), "the signal of a child that is stuck itself"),
    (QUEUED.replace("LIMIT", LIMIT.strip().replace("other.", "others[1].") % "SO_SNDTIMEO"),
     lambda case: free(case) and case.awaited("connects") == ["listens"], "a unix socket whose queue is full, with SO_SNDTIMEO"),
    (QUEUED.replace("LIMIT", ""), deadlock("connects", "listens"), "a unix socket whose queue is full"),
    (RING, lambda case: free(case) and "signal" not in case.text, "a lock, and an io_uring"),
    (PAIR + BOTH_READ.replace('name("other")', WITH_RING), free, "the other end is that of who has an io_uring"),
    (MESSAGES, deadlock("one", "other"), "connected sockets of messages"),
    (TO_A_NAME, deadlock("sends", "takes"), "messages to the name of a socket"),
    (CONNECTS, connects, "connect() to a full queue of TCP"),
    (SENDFILE, lambda case: free(case) and case.awaited(case.process.pid) == ["takes"], "sendfile() to a full socket"),
    (TWO_READERS, deadlock("stuck", "writes"), "two readers of a locked file, both of whom must let go"),
    (SHARED_LOCK, lambda case: free(case) and sorted(case.awaited("wants")) == ["has", "shares"],
     "a lock of a file that two share, either of whom may let go"),
)
# In a PID namespace of their own.
NESTED = (
    (ADOPTS, free, "a first process that may adopt a child"),
    (REUSED, doubted, "the number of a thread that has ended"),
    (ABBA % (1, "time.sleep(1000)"), two_locks, "robust mutexes of a process in a PID namespace"),
    (ONE_SPACE, deadlock("inner", "inner"), "a mutex that processes of a PID namespace share"),
)


def main():
    kernel.need(PYTHON)
    tap = kernel.Tap()
    with kernel.workdir() as folder:
        cases = [(Case(program, folder), judge, what) for program, judge, what in CASES]
        if os.geteuid() == 0 and shutil.which("unshare"):
            cases.append((Case(SPACES, folder), nobody, "a mutex that two PID namespaces share"))
            cases += [(Case(program, folder, "unshare", "--pid", "--fork"), judge, what) for program, judge, what in NESTED]
        try:
            for case, judge, what in cases:
                case.look()
                tap.ok(judge(case), what, case.text)
        finally:
            for case, _, _ in cases:
                case.end()
        # While it is, it says something of all.
        case = Case(IN_A_MESSAGE, folder)
        try:
            case.look()
            tap.ok(free(case) and case.awaited("reads") == ["writes"], "a descriptor in a message", case.text)
        finally:
            case.end()
        if shutil.which("unshare"):
            done = subprocess.run([PYTHON, "-c", INSIDE, kernel.HOLDUP], capture_output=True, text=True, check=False, timeout=60)
            tap.ok(done.stdout.startswith("0 ") and "can write to the pipe" in done.stdout
                   and "outside of this PID namespace" in done.stdout, "inside a container, whose pipes one outside has", done.stdout)
    tap.end()


if __name__ == "__main__":
    main()
