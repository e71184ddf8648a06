#!/usr/bin/env python3
"""Programs that are stuck in a known way: `holdup stuck` says how, and of busy ones that they are not.

Each case is a program of stuck-programs.c (or of Python), looked at once it sleeps. All run at the same
time; the looks are short.
"""
import fcntl
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

PROGRAM = os.path.join(kernel.PROGRAMS, "stuck-programs")
SOURCE = os.path.join(kernel.ROOT, "tests", "kernel", "stuck-programs.c")
SETTLED_S = 30
BUSY_S = 2 # how long one looks at what is busy, and how often at most
BUSY_LOOKS = 100
NOBODY = 65534

PYTHON = """
import threading, sys
locks, barrier = (threading.Lock(), threading.Lock()), threading.Barrier(2)
def take(first, second):
    locks[first].acquire(); barrier.wait(); locks[second].acquire()
for order in ((0, 1), (1, 0)):
    threading.Thread(target=take, args=order).start()
print("ready", flush=True)
"""
# A server that computes and accepts nobody, and two clients that wait for it.
QUEUED = """
import os, socket, time
listeners = [socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_UNIX)]
if socket.has_ipv6:
    six = socket.socket(socket.AF_INET6); six.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    six.bind(("::", listeners[0].getsockname()[1])); six.listen()
listeners[1].bind("queue"); listeners[1].listen()
if os.fork() == 0:
    time.sleep(100000)
for listener in listeners:
    if os.fork() == 0:
        client = socket.socket(listener.family); client.connect(listener.getsockname())
        for one in listeners: one.close()
        if socket.has_ipv6: six.close()
        client.recv(1)
for one in listeners: one.close()
if socket.has_ipv6: six.close()
print("ready", flush=True)
os.wait()
"""
# One takes them by name, the other one by "with"; each way leaves the lock elsewhere on the stack.
RLOCKS = """
import threading
locks, barrier = (threading.RLock(), threading.RLock()), threading.Barrier(2)
def take(first, second):
    locks[first].acquire(); barrier.wait(); locks[second].acquire()
def take_with(first, second):
    with locks[first]:
        barrier.wait()
        with locks[second]: pass
threads = [threading.Thread(target=take, args=(0, 1)), threading.Thread(target=take_with, args=(1, 0))]
for thread in threads:
    thread.start()
print("ready", flush=True)
threads[0].join()
"""
BUSY_RLOCKS = """
import threading, time
a, b, c = threading.RLock(), threading.RLock(), threading.Lock()
def work():
    while True:
        with a:
            with b: time.sleep(0.0002)
        with c:
            with b: pass
for _ in range(6):
    threading.Thread(target=work, daemon=True).start()
print("ready", flush=True)
time.sleep(100000)
"""
# Each of the two does what the other one waits for, but one of them not for ever.
RLOCKS_TIMED = RLOCKS.replace("barrier.wait(); locks[second].acquire()",
                              "barrier.wait(); locks[second].acquire(timeout=1000)")
# A loop that waits for its own pipe and for a child; and one that waits for its own pipe, which the end of a child fills.
LOOP = """
import os, select, signal, time
own, child = os.pipe(), os.pipe()
if os.fork() == 0:
    os.close(own[0]); os.close(own[1]); os.close(child[0]); time.sleep(100000)
os.close(child[1])
print("ready", flush=True)
select.select([own[0], child[0]], [], [])
"""
SIGNALLED = """
import os, select, signal, time
own = os.pipe()
if os.fork() == 0:
    os.close(own[0]); os.close(own[1]); time.sleep(100000)
signal.signal(signal.SIGCHLD, lambda *unused: os.write(own[1], b"x"))
print("ready", flush=True)
os.read(own[0], 1)
"""
TERMINAL = """
import os, time
master, slave = os.openpty()
if os.fork() == 0:
    os.close(master); time.sleep(100000)
os.close(slave)
print("ready", flush=True)
os.read(master, 1)
"""
TCP = """
import os, socket
listener = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    client = socket.create_connection(listener.getsockname()); listener.close(); client.recv(1)
server, _ = listener.accept(); listener.close()
print("ready", flush=True)
server.recv(1)
"""


class Case:
    """A program that was started, and, once it is looked at, the report on it."""

    def __init__(self, name, argv, folder):
        self.name = name
        self.folder = tempfile.mkdtemp(dir=folder)
        self.process = subprocess.Popen(argv, cwd=self.folder, stdout=subprocess.PIPE, process_group=0,
                                        stdin=subprocess.DEVNULL, text=True)
        self.pid = self.process.pid
        self.report, self.done, self.queues, self.said = None, None, [], ""

    def look(self, *options, **more):
        self.done = kernel.holdup("stuck", "--json", *options, self.pid, **more)
        try:
            self.report = json.loads(self.done.stdout)
        except ValueError:
            self.report = None
        return self.report

    def end(self):
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        for queue in self.queues:
            subprocess.run(["ipcrm", "-q", queue], capture_output=True, check=False)

    def thread(self, tid):
        return next((one for one in self.report["threads"] if one["tid"] == tid), None)

    def others(self):
        return [one for one in self.report["threads"] if one["tid"] != self.pid]


def tasks_by_group():
    """Of each process group all threads: their number, state, and how often they ran."""
    groups = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid) as file:
                group = int(file.read().rsplit(")", 1)[1].split()[2])
            for tid in os.listdir("/proc/%s/task" % pid) if group else ():
                with open("/proc/%s/task/%s/schedstat" % (pid, tid)) as file:
                    runs = file.read().split()[2]
                with open("/proc/%s/task/%s/stat" % (pid, tid)) as file:
                    state = file.read().rsplit(")", 1)[1].split()[0]
                groups.setdefault(group, set()).add((int(tid), state, runs))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return groups


def settle(cases):
    """Wait until nobody of them runs any more."""
    for case in cases:
        case.said = case.process.stdout.readline()
    end, before = time.monotonic() + SETTLED_S, {}
    while time.monotonic() < end:
        now = tasks_by_group()
        if all(now.get(case.pid) and now[case.pid] == before.get(case.pid) and
               all(state in "STtZ" for _, state, _ in now[case.pid]) for case in cases):
            return
        before = now
        time.sleep(0.05)


def edges(thread):
    return [edge["tid"] for edge in thread["waits_for"]]


def is_ring(case, count):
    """One cycle, of that many threads, each of which waits for another one of it."""
    cycles = case.report["cycles"]
    return (len(cycles) == 1 and len(cycles[0]) == count and case.done.returncode == 1
            and all(set(edges(case.thread(tid))) & set(cycles[0]) for tid in cycles[0]))


def two_and_a_victim(case):
    """The main thread joins one of two that wait for each other."""
    return (is_ring(case, 2) and case.pid not in case.report["cycles"][0]
            and "deadlock" in case.thread(case.pid)["root"]
            and edges(case.thread(case.pid))[0] in case.report["cycles"][0]
            and all(set(edges(one)) <= set(case.report["cycles"][0]) for one in case.others()))


def three_and_a_victim(case):
    return is_ring(case, 3) and case.pid not in case.report["cycles"][0]


def queued(case):
    """Whoever has the socket that listens is who they wait for, and that one sleeps."""
    with open("/proc/%d/task/%d/children" % (case.pid, case.pid)) as file:
        children = file.read().split()
    report = json.loads(kernel.holdup("stuck", "--json", *children).stdout)
    server = [one["tid"] for one in report["threads"] if (one["wait"] or {"in": ""})["in"] == "clock_nanosleep"]
    clients = [one for one in report["threads"] if (one["wait"] or {"in": ""})["in"] == "recvfrom"]
    return (len(server) == 1 and len(clients) == 2 and report["cycles"] == []
            and all([(edge["tid"], edge["how"]) for edge in one["waits_for"]] == [(server[0], "has not accepted the connection")]
                    and "sleeps until a time" in one["root"] for one in clients))


def rlocks(case):
    """Two threads of Python that wait for each other's RLock."""
    objects = [case.thread(tid)["wait"]["object"] for cycle in case.report["cycles"] for tid in cycle]
    return is_ring(case, 2) and all(word.startswith("Python RLock") for word in objects)


def rlocks_timed(case):
    """Owners are named, and it is no deadlock."""
    waits = [one for one in case.report["threads"]
             if one["wait"] and (one["wait"]["object"] or "").startswith("Python RLock")]
    return (no_deadlock(case) and len(waits) == 2
            and edges(waits[0]) == [waits[1]["tid"]] and edges(waits[1]) == [waits[0]["tid"]])


def python_locks(case):
    """They note no owner, and the report says so; one of the two is joined."""
    objects = [(one["wait"] or {"object": ""})["object"] or "" for one in case.others()]
    return (all(one["waits_for"] == [] and "no owner is known" in one["root"] for one in case.others())
            and no_deadlock(case) and sum(word.startswith("Python Lock (notes no owner)") for word in objects) == 2)


def ring_of(count):
    return lambda case: is_ring(case, count)


def unowned(case):
    """No owner is named, nor a deadlock; that nobody of the process goes on is said."""
    return (case.done.returncode == 0 and case.report["cycles"] == []
            and all(one["waits_for"] == [] for one in case.report["threads"])
            and all("no owner is known" in one["root"] for one in case.report["threads"]))


def closed(case):
    """No owner is named; that nobody is left who could end it is a deadlock, and is labelled so."""
    threads = {one["tid"]: one for one in case.report["threads"]}
    text = kernel.holdup("stuck", case.pid).stdout
    return (case.done.returncode == 1 and [sorted(cycle) for cycle in case.report["cycles"]] == [sorted(threads)]
            and any("no owner is known" in one["root"] for one in threads.values())
            and all("no owner is known" in one["root"] or one["waits_for"] for one in threads.values())
            and "By exclusion" in text)


def closed_in(words):
    """By exclusion; somebody waits for what the words say, or for a thread's end."""
    def judge(case):
        objects = [one["wait"]["object"] for one in case.report["threads"]]
        return closed(case) and any(word.startswith(words) for word in objects)
    return judge


def shared_word(case):
    """Another process may have the memory."""
    return no_deadlock(case) and all("no owner is known" not in one["root"] for one in case.others())


def shared_mutex(case):
    return case.report["cycles"] == [] and case.thread(case.pid)["wait"]["object"].startswith("mutex (of musl, notes no owner) ")


def one_could(case):
    """The one that sleeps is named, as what it is: who is left over."""
    sleeper = next(one["tid"] for one in case.others() if one["wait"]["in"] == "clock_nanosleep")
    main = case.thread(case.pid)
    return (no_deadlock(case) and main["waits_for"] == [] and main["root"] ==
            "waits for an object without a known owner; by exclusion, only stuck-programs[%d] can end that, but for a signal: "
            "sleeps until a time (clock_nanosleep)" % sleeper)


def several_could(case):
    return no_deadlock(case) and case.thread(case.pid)["root"] == "waits for an object without a known owner"


def ended(case):
    """The main thread is a zombie, and releases nothing any more."""
    others = [one for one in case.others() if one["tgid"] == case.pid]
    return (case.done.returncode == 1 and case.report["cycles"] == [[one["tid"] for one in others]]
            and "which is not in this process" in others[0]["wait"]["object"])


def orphaned(case):
    """The program says which thread locked it."""
    return (closed(case) and
            "(by its layout; of thread %s, which is not in this process)" % case.said.split()[0] in case.thread(case.pid)["wait"]["object"])


def one_short(case):
    objects = [one["wait"]["object"] for one in case.others()]
    return len(objects) == 3 and all(re.match(r"barrier \(by its layout; 3 of 4 have come\) \S+", one) for one in objects)


def chain_to(word, is_child=True):
    def judge(case):
        main = case.thread(case.pid)
        return (case.done.returncode == 0 and case.report["cycles"] == [] and word in main["root"]
                and (not is_child or edges(main) == [one["tid"] for one in case.others()]))
    return judge


def stopped_server(case):
    """Which file system it is cannot be told apart where others are served, too."""
    if case.said.strip() == "missing":
        return True
    main = case.thread(case.pid)
    servers = [one for one in case.others() if "stopped by a signal" in one["root"] and one["tid"] in edges(main)]
    return no_deadlock(case) and servers and (len(edges(main)) > 1 or "stopped by a signal" in main["root"])


def convoy(case):
    lines = case.report["convoys"]
    return (case.done.returncode == 0 and len(lines) == 1 and lines[0]["tid"] == case.pid
            and sorted(lines[0]["tids"]) == sorted(one["tid"] for one in case.others())
            and len(lines[0]["tids"]) == 4)


def no_deadlock(case):
    return case.done.returncode == 0 and case.report["cycles"] == []


def behind_the_writer(case):
    """The reader, which came last, waits for the writer, which waits for readers: they have no names."""
    writer, reader = sorted(case.others(), key=lambda one: one["tid"])
    return (edges(reader) == [writer["tid"]] and edges(writer) == [] and case.report["cycles"] == []
            and reader["wait"]["object"].startswith("rwlock "))


def each_for_the_parent(case):
    """A reader of an eventfd, a receiver of messages, inferred, and a child that is not waited for."""
    with open("/proc/%d/task/%d/children" % (case.pid, case.pid)) as file:
        children = [int(word) for word in file.read().split()]
    report = json.loads(kernel.holdup("stuck", "--json", *children).stdout)
    threads = {one["tid"]: one for one in report["threads"]}
    how = [threads[child]["waits_for"][-1]["how"] for child in children]
    objects = [(threads[child]["wait"] or {"object": ""})["object"] for child in children]
    return (all(case.pid in edges(threads[child]) for child in children) and report["cycles"] == []
            and "[eventfd]" in objects[0] and "message queue /holdup-test-" in objects[1]
            and how[1].startswith("inferred: ") and "has not waited for it" in how[2])


def five_for_the_parent(case):
    """Of a pidfd, a full socket, a full queue of connections, a pipe, and a message queue, which is inferred."""
    with open("/proc/%d/task/%d/children" % (case.pid, case.pid)) as file:
        children = [int(word) for word in file.read().split()]
    report = json.loads(kernel.holdup("stuck", "--json", *children).stdout)
    threads = {one["tid"]: one for one in report["threads"]}
    how = [[edge["how"] for edge in threads[child]["waits_for"] if edge["tid"] == case.pid] for child in children]
    for queue in re.findall(r"message queue (\d+)", json.dumps(report)):
        case.queues.append(queue)
    return (report["cycles"] == [] and how[:4] == [["is awaited by a pidfd"], ["has the other end of the unix socket"],
                                                   ["accepts no connection there"], ["can write to the pipe"]]
            and how[4] == ["inferred: sent to the queue last"]
            and "whose queue is full" in threads[children[2]]["wait"]["object"])


# What is stuck, and how that is to be told.
KINDS = (
    ("normal", two_and_a_victim, "two mutexes"),
    ("recursive", two_and_a_victim, "two recursive mutexes"),
    ("robust", two_and_a_victim, "two robust mutexes"),
    ("pi", two_and_a_victim, "two PI mutexes, which the kernel refuses to close"),
    ("pi-ring", three_and_a_victim, "three PI mutexes in a ring"),
    ("rwlock", two_and_a_victim, "two rwlocks"),
    ("twice", ring_of(1), "one mutex twice"),
    ("join", ring_of(3), "three that join each other"),
    ("pipes", ring_of(3), "empty pipes in a ring of three processes"),
    ("sockets", ring_of(3), "full unix sockets in a ring of three processes"),
    ("flock", ring_of(2), "a file lock and a mutex over two processes"),
    ("parent", ring_of(2), "a child that reads what only its parent could write"),
    ("stdio", ring_of(2), "the lock of a FILE and a join"),
    ("timed", no_deadlock, "two mutexes, one with a time limit: no deadlock"),
    ("fcntl", chain_to("sleeps until a time"), "a lock of fcntl(), whose owner sleeps"),
    ("stopped", chain_to("stopped by a signal"), "the other end was stopped"),
    ("child", chain_to("sleeps until a time"), "a child that lives"),
    ("fuse", stopped_server, "the server of a file system was stopped"),
    ("fuse-page", stopped_server, "the server of a file was stopped, when a page was to be read"),
    ("seccomp", chain_to("sleeps until a time"), "a call on which another process has to decide"),
    ("lost", closed, "a condition variable without an owner"),
    ("handled", unowned, "a semaphore for a signal's handler: no deadlock"),
    ("self-pipe", no_deadlock, "a pipe to itself that Ctrl-C fills: no deadlock"),
    ("shared", several_could, "a semaphore that another process with the same memory could post: no deadlock"),
    ("orphan", orphaned, "a mutex whose owner has exited"),
    ("ended", ended, "a mutex of a main thread that has ended"),
    ("barrier", one_short, "a barrier that one has not come to"),
    ("one-could", one_could, "a semaphore that one thread alone could post"),
    ("two-could", several_could, "a semaphore that each of two threads could post"),
    ("one-and-another", several_could, "a semaphore that a thread or another process with the same memory could post"),
    ("ranges", ring_of(2), "two parts of a file, locked by its descriptions"),
    ("word", closed, "a word of its own memory, awaited as if it were shared"),
    ("shared-word", shared_word, "a word of shared memory: no deadlock"),
    ("once", closed_in("pthread_once "), "pthread_once() that calls itself"),
    ("shared-mutex", ring_of(1), "a mutex that may be shared, taken twice"),
    ("convoy", convoy, "four behind one mutex"),
    ("behind", behind_the_writer, "a reader behind a writer that waits"),
    ("parents", five_for_the_parent, "a pidfd, full queues, a pipe that is spliced, a message queue"),
    ("three", each_for_the_parent, "an eventfd, a message queue, a child that has exited"),
)


# The function of the program in which each thread of the deadlock waits, or one of them does.
FUNCTIONS = {"normal": {"lock_both"}, "recursive": {"lock_both"}, "robust": {"lock_both"}, "pi": {"lock_both"},
             "rwlock": {"rwlock_both"}, "join": {"join_next"}, "timed": {"lock_timed"}}


def check_stacks(tap, case, what):
    """In which code they wait: where the program waits, and nowhere that it has none."""
    asleep = [one for one in case.report["threads"] if one["stack"]]
    found = [{frame["function"] for frame in one["stack"]} for one in asleep]
    if case.name in FUNCTIONS:
        wanted = case.report["cycles"][0] if case.report["cycles"] else [one["tid"] for one in case.others()]
        tap.ok(all(FUNCTIONS[case.name] <= functions for one, functions in zip(asleep, found) if one["tid"] in wanted)
               and {one["tid"] for one in asleep} >= set(wanted), what + ": in which function", found)
    tap.ok(all(frame["module"] for one in asleep for frame in one["stack"]), what + ": frames have files", asleep[:1])


def check_case(tap, case, judge, what):
    shown = case.done.stdout[:3000] + case.done.stderr
    if not tap.ok(case.report is not None, what + ": looked at", case.done.returncode, shown):
        return
    tap.ok(judge(case), what, case.done.returncode, shown)
    since = [one["wait"]["since_ns"] for one in case.report["threads"] if one["wait"]]
    now = kernel.monotonic_ns()
    tap.ok(all(ns is None or 0 < ns <= now for ns in since), what + ": since when", since, now)
    check_stacks(tap, case, what)


def all_cases(tap, cases):
    settle([case for case, _, _ in cases])
    # One after the other: they are short, and what they take is told.
    for case, judge, what in cases:
        case.look()
        check_case(tap, case, judge, what)
    took = [case.report["took_ns"] for case, _, _ in cases if case.report]
    kernel.note("looks took %.1f ms, at most %.1f ms" % (sum(took) / len(took) / 1e6, max(took) / 1e6))


def user_may_look(tap, case):
    """The program's own user finds its deadlock without root, and another's is refused."""
    as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    tool = os.path.join(case.folder, "holdup")
    shutil.copy(kernel.HOLDUP, tool)
    for path in (tool, case.folder, os.path.dirname(case.folder)):
        os.chmod(path, 0o755)
    done = subprocess.run([tool, "stuck", str(case.pid)], capture_output=True, text=True, cwd="/", **as_nobody)
    tap.ok(done.returncode == 3 and "root" in done.stderr, "not root: another's process is refused", done)
    own = subprocess.Popen([os.path.join(case.folder, "own"), "normal"], stdout=subprocess.PIPE, cwd="/",
                           **as_nobody)
    own.stdout.readline()
    time.sleep(0.3)
    done = subprocess.run([tool, "stuck", "--json", str(own.pid)], capture_output=True, text=True, cwd="/",
                          **as_nobody)
    own.kill()
    own.wait()
    tap.ok(done.returncode == 1 and len(json.loads(done.stdout)["cycles"]) == 1,
           "not root: the own one's deadlock is found", done)


def user_sees_who_took_it(tap, case):
    """A lock of flock() that root has: who took it is in /proc/locks, who has it by now is not to be read."""
    as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "cwd": "/"}
    path = os.path.join(case.folder, "locked")
    with open(path, "w") as file:
        os.chmod(path, 0o666)
        fcntl.flock(file, fcntl.LOCK_EX)
        waits = subprocess.Popen(["/usr/bin/flock", path, "true"], **as_nobody)
        time.sleep(0.5)
        done = subprocess.run([os.path.join(case.folder, "holdup"), "stuck", "--json", str(waits.pid)], capture_output=True,
                              text=True, **as_nobody)
    waits.wait()
    thread = next(one for one in json.loads(done.stdout)["threads"] if one["tid"] == waits.pid)
    tap.ok([(edge["tid"], edge["how"]) for edge in thread["waits_for"]] == [(os.getpid(), "inferred: took the lock of the file")],
           "not root: who took a lock is inferred", done)


def terminal(case):
    """The child has the terminal, whose master is read from."""
    main = case.thread(case.pid)
    return (no_deadlock(case) and re.match(r"fd \d+ = master of /dev/pts/\d+$", main["wait"]["object"]) and main["wait"]["outside"]
            and [(edge["tid"], edge["how"]) for edge in main["waits_for"]] ==
            [(one["tid"], "inferred: has a terminal with that number open") for one in case.others()])


def loop_of(how):
    """The child comes first, then the process itself."""
    def judge(case):
        return no_deadlock(case) and [(edge["tid"], edge["how"]) for edge in case.thread(case.pid)["waits_for"]] == [
            (case.others()[0]["tid"], how), (case.pid, "can write to the pipe")]
    return judge


def without_root(tap, case):
    probe = subprocess.run([kernel.HOLDUP, "--version"], capture_output=True, text=True)
    if probe.returncode != 0:
        tap.skipped("not root", "the program does not run")
        return
    shutil.copy(PROGRAM, os.path.join(case.folder, "own"))
    user_may_look(tap, case)
    user_sees_who_took_it(tap, case)


def cgroup_of(kind, v1, v2):
    """A new cgroup: its folder and the file that limits it, or Nones."""
    for root, file in (("/sys/fs/cgroup/" + kind, v1), ("/sys/fs/cgroup", v2), ("/sys/fs/cgroup/unified", v2)):
        folder = "%s/holdup-test-%d" % (root, os.getpid())
        try:
            os.mkdir(folder)
        except OSError:
            continue
        if os.path.exists(os.path.join(folder, file)) and os.path.exists(os.path.join(folder, "cgroup.procs")):
            return folder, os.path.join(folder, file)
        os.rmdir(folder)
    return None, None


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def remove(group):
    """A cgroup; who was in it may take its time to end."""
    for _ in range(100):
        try:
            os.rmdir(group)
            break
        except OSError:
            time.sleep(0.05)


def by_a_cgroup(tap, folder):
    """A child that is frozen where it sleeps, and one whose quota is used up."""
    for kind, v1, v2, freeze, thaw, word in (("freezer", "freezer.state", "cgroup.freeze", ("FROZEN", "1"), ("THAWED", "0"), "is frozen by its cgroup"),
                                             ("cpu", "cpu.cfs_quota_us", "cpu.max", ("1000", "1000 100000"), None, "CPU quota of cgroup")):
        group, limit = cgroup_of(kind, v1, v2)
        if not group:
            tap.skipped(word, "no cgroup of this kind can be made")
            continue
        case = Case(kind, ["/bin/sh", "-c", "(%s) | cat" % ("exec sleep 1000" if thaw else "while :; do :; done")], folder)
        try:
            time.sleep(0.2)
            with open("/proc/%d/task/%d/children" % (case.pid, case.pid)) as file:
                writer, reader = [int(pid) for pid in file.read().split()]
            write(os.path.join(group, "cgroup.procs"), str(writer))
            write(limit, freeze[limit.endswith(v2)])
            time.sleep(0.5)
            told = json.loads(kernel.holdup("stuck", "--json", reader).stdout)
            thread = next(one for one in told["threads"] if one["tid"] == reader)
            tap.ok(edges(thread) == [writer] and word in thread["root"], word, told)
        finally:
            if thaw:
                write(limit, thaw[limit.endswith(v2)])
            case.end()
            remove(group)


READER = """
import mmap, os
file, page = os.open("../data", os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 65536)
print("ready", flush=True)
while True:
    os.preadv(file, [page], 0)
"""


def disk_of(path):
    """The disk a file is on, as "254:0"; None = on none."""
    device = os.stat(path).st_dev
    name = "/sys/dev/block/%d:%d" % (os.major(device), os.minor(device))
    if not os.path.exists(name):
        return None
    if os.path.exists(name + "/partition"):
        name += "/.."
    with open(name + "/dev") as file:
        return file.read().strip()


def by_an_io_limit(tap, folder):
    """Who reads under a limit sleeps in the kernel, and the disk has nothing to do: the limit is named, as inferred."""
    with open(os.path.join(folder, "data"), "wb") as file:
        file.write(bytes(65536))
        os.fsync(file.fileno())
    disk = disk_of(folder)
    group, limit = cgroup_of("blkio", "blkio.throttle.read_bps_device", "io.max") if disk else (None, None)
    if not group:
        tap.skipped("an I/O limit", "no disk, or no cgroup of this kind can be made")
        return
    setting = " rbps=%d" if limit.endswith("io.max") else " %d"
    case = Case("reader", ["/usr/bin/python3", "-c", READER], folder)
    try:
        case.process.stdout.readline()
        write(limit, disk + setting % 4096)
        write(os.path.join(group, "cgroup.procs"), str(case.pid))
        time.sleep(1)
        told = json.loads(kernel.holdup("stuck", "--json", case.pid).stdout)
        words = "I/O limit of cgroup /%s" % os.path.basename(group)
        tap.ok("inferred: held back by the " + words in told["threads"][0]["wait"]["object"] and
               told["threads"][0]["root"] == "is held back by an I/O limit, as inferred", "stuck names an I/O limit", told)
        report, _ = kernel.why("-p", case.pid, "-d", "1.5")
        root = report["verdict"][0] if report else {}
        tap.ok(root.get("kind") == "throttled" and root["what"].startswith(words) and "no such request was with the disk" in (root["inferred"] or ""),
               "why names it as well, of a request that it still holds", report and report["verdict"][:2])
    finally:
        write(limit, disk + (" rbps=max" if limit.endswith("io.max") else " 0"))
        case.end()
        remove(group)


def busy_ones(tap, folder):
    """Never a deadlock, however often one looks."""
    commands = {"busy-locks": [PROGRAM, "busy-locks"], "busy-ring": [PROGRAM, "busy-ring"],
                "busy-relay": [PROGRAM, "busy-relay"],
                "busy-rlocks": ["/usr/bin/python3", "-c", BUSY_RLOCKS]}
    for kind, command in commands.items():
        case = Case(kind, command, folder)
        case.process.stdout.readline()
        end, looks, bad = time.monotonic() + BUSY_S, 0, []
        try:
            while not looks or (looks < BUSY_LOOKS and time.monotonic() < end):
                looks += 1
                if case.look() is None or case.done.returncode != 0 or case.report["cycles"] or "only a signal" in case.done.stdout:
                    bad.append(case.done.stdout + case.done.stderr)
        finally:
            case.end()
        tap.ok(not bad, "%s: no deadlock, however often one looks" % kind, len(bad), bad[:1])
        kernel.note("%d looks" % looks)


def hostile_name(tap, folder):
    """A name that commands a terminal is escaped, in JSON and in text."""
    code = "open('/proc/self/comm', 'wb').write(b'\\x1b[31m\\nx\\xff'); print('ready', flush=True); input()"
    with kernel.running(sys.executable, "-c", code, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        time.sleep(0.1)
        for options in ([], ["--json"]):
            done = subprocess.run([kernel.HOLDUP, "stuck", *options, str(process.pid)], capture_output=True)
            tap.ok(done.returncode == 0 and b"\x1b" not in done.stdout and b"\xff" not in done.stdout,
                   "a hostile name is escaped %s" % " ".join(options), done)


def owns(case, waiter, owner):
    """By names of threads: does the first wait for the second alone?"""
    tids = {thread["comm"]: thread["tid"] for thread in case.report["threads"]}
    thread = case.thread(tids[waiter])
    return [other["tid"] for other in thread["waits_for"]] == [tids[owner]]


def is_labelled(case, waiter):
    """Whom it waits for is inferred, and says so."""
    return all(edge["how"].startswith("inferred: ") for thread in case.report["threads"]
               if thread["comm"] == waiter for edge in thread["waits_for"])


def java_monitors(tap, folder):
    """Tables as HotSpot exports them, by whichever way it names an owner; and tables that lie."""
    library = os.path.join(folder, "libjvm.so")
    shutil.copy(os.path.join(kernel.PROGRAMS, "hotspot"), library)
    ways = ("pointer", "stack", "id", "anonymous", "liar", "slots", "stream", "liar-stream")
    cases = [Case(way, [library, way], folder) for way in ways]
    try:
        settle(cases)
        for case in cases:
            case.look()
    finally:
        for case in cases:
            case.end()
    for case in cases[:4]:
        words = {thread["wait"]["object"].split(" 0x")[0] for thread in case.report["threads"]
                 if thread["comm"] in ("left", "right", "victim")}
        tap.ok(is_ring(case, 2) and owns(case, "left", "right") and owns(case, "victim", "left")
               and owns(case, "joiner", "victim") and is_labelled(case, "joiner") and words == {"Java monitor of shop.Lock"},
               "monitors of Java, owners by %s" % case.name, case.report)
    for case in cases[5:7]:
        objects = {one["comm"]: one["wait"]["object"].split(" 0x")[0] for one in case.others()}
        tap.ok(is_ring(case, 2) and owns(case, "left", "right") and owns(case, "victim", "left")
               and case.thread(case.pid)["waits_for"] == []
               and objects == {**dict.fromkeys(("left", "right", "victim"), "Java lock of shop.Sync"),
                               "joiner": "Java park for an object of shop.Latch"},
               "locks of java.util.concurrent, fields in %s" % case.name, case.report)
    for case in cases[4], cases[7]:
        tap.ok(case.done.returncode == 0 and case.report["cycles"] == [], "tables of Java that lie: " + case.name,
               case.report)


# Two monitors; two locks of java.util.concurrent; two of which one has a time limit.
JAVA = """import java.util.concurrent.*;
import java.util.concurrent.locks.*;
public class Ring {
    interface Work { void run() throws Exception; }
    static final java.util.List<Thread> threads = new java.util.ArrayList<>();
    static boolean waits(Thread thread) {
        Object blocker = LockSupport.getBlocker(thread);
        String name = blocker == null ? "" : blocker.getClass().getName();
        return thread.getState() == Thread.State.BLOCKED || name.contains("Reentrant") || name.contains("Semaphore")
            || name.contains("FutureTask");
    }
    static void start(String name, Work work) {
        Thread thread = new Thread(() -> { try { work.run(); } catch (Exception e) { } }, name);
        thread.setDaemon(true);
        threads.add(thread);
        thread.start();
    }
    static void both(Object first, Object second, CountDownLatch latch) throws Exception {
        synchronized (first) { latch.countDown(); latch.await(); synchronized (second) { System.out.println("?"); } }
    }
    static void locks(Lock first, Lock second, CountDownLatch latch, long limit) throws Exception {
        first.lock(); latch.countDown(); latch.await();
        if (limit > 0) second.tryLock(limit, TimeUnit.SECONDS); else second.lock();
    }
    public static void main(String[] words) throws Exception {
        CountDownLatch one = new CountDownLatch(2), two = new CountDownLatch(2), three = new CountDownLatch(2);
        Object a = new Object(); StringBuilder b = new StringBuilder();
        Lock c = new ReentrantLock(), d = new ReentrantReadWriteLock().writeLock();
        Lock e = new ReentrantLock(), f = new ReentrantLock(true);
        start("left", () -> both(a, b, one)); start("right", () -> both(b, a, one));
        start("up", () -> locks(c, d, two, 0)); start("down", () -> locks(d, c, two, 0));
        start("early", () -> locks(e, f, three, 0)); start("late", () -> locks(f, e, three, 1000));
        while (!threads.stream().allMatch(thread -> waits(thread))) Thread.sleep(20);
        start("victim", () -> c.lock());
        Semaphore semaphore = new Semaphore(0);
        start("semaphore", () -> semaphore.acquire());
        ExecutorService pool = Executors.newSingleThreadExecutor(work -> {
            Thread thread = new Thread(work, "worker"); thread.setDaemon(true); return thread; });
        Future<?> task = pool.submit(() -> { Thread.sleep(1000000); return 1; });
        Future<?> later = pool.submit(() -> 2);
        start("client", () -> task.get());
        start("behind", () -> later.get());
        while (!threads.stream().allMatch(thread -> waits(thread))) Thread.sleep(20);
        System.out.println("stuck"); Thread.sleep(1000000);
    }
}
"""


def java_kits():
    """Folders of programs of the JDKs that are here."""
    found = shutil.which("jstack") and os.path.dirname(os.path.realpath(shutil.which("jstack")))
    folders = [os.path.join(path, "bin") for path in sorted(glob.glob("/usr/lib/jvm/*"))]
    return sorted({os.path.realpath(path) for path in (found, *folders)
                   if path and all(os.access(os.path.join(path, tool), os.X_OK) for tool in ("jstack", "java"))})


def by_jstack(said):
    """Of each thread that jstack says to be parked for a lock: the lock's address and class."""
    found = {}
    for block in re.split(r'^(?=")', said, flags=re.M):
        lock = re.search(r"parking to wait for\s+<0x([0-9a-f]+)> \(a ([^)]+)\)", block)
        if lock and block.startswith('"'):
            found[block[1:].split('"')[0]] = (int(lock.group(1), 16), lock.group(2))
    return found


def looked_until(pid, count, looks=20):
    """HotSpot looks again at its monitors every second, and runs then."""
    for _ in range(looks):
        report = json.loads(kernel.holdup("stuck", "--json", pid).stdout)
        if len(report["cycles"]) >= count:
            break
    return report


def real_java(tap, folder):
    """Where there is a JDK: what jstack says, too."""
    source = os.path.join(folder, "Ring.java")
    with open(source, "w") as file:
        file.write(JAVA)
    for tools in java_kits():
        with kernel.running(os.path.join(tools, "java"), source, stdout=subprocess.PIPE, text=True) as process:
            process.stdout.readline()
            said = subprocess.run([os.path.join(tools, "jstack"), "-l", str(process.pid)], capture_output=True,
                                  text=True, timeout=60).stdout
            report = looked_until(process.pid, 2)
        as_jstack_says(tap, report, said, tools)


def as_jstack_says(tap, report, said, tools):
    monitors = set(re.findall("waiting to lock monitor (0x[0-9a-f]+)", said))
    threads = {one["comm"]: one for one in report["threads"]}
    names = {one["tid"]: one["comm"] for one in report["threads"]}
    objects = {name: one["wait"] and one["wait"]["object"] or "" for name, one in threads.items()}
    owners = {name: [names[tid] for tid in edges(one)] for name, one in threads.items()}
    cycles = sorted(sorted(names[tid] for tid in cycle) for cycle in report["cycles"])
    tap.ok(cycles == [["down", "up"], ["left", "right"]], "deadlocks of a real JVM, %s" % tools, cycles, said[-3000:])
    words = [objects[name] for name in ("left", "right")]
    tap.ok(sorted(word.split(" 0x")[0] for word in words) ==
           ["Java monitor of java.lang.Object", "Java monitor of java.lang.StringBuilder"]
           and {int(word.split(" 0x")[1], 16) for word in words} == {int(each, 16) for each in monitors},
           "two monitors, as jstack has them", words, said[-2000:])
    parked = by_jstack(said)
    wanted = {name: parked[name][1] for name in ("up", "down", "early", "late", "victim", "semaphore")}
    tap.ok(all(objects[name].startswith("Java lock of %s 0x" % wanted[name]) for name in wanted),
           "classes of locks, as jstack has them", wanted, objects)
    tap.ok([owners[name] for name in ("up", "down", "early", "late", "victim", "semaphore")]
           == [["down"], ["up"], ["late"], ["early"], ["up"], []], "owners of locks, as the program took them", owners)
    tap.ok(owners["client"] == ["worker"] and owners["behind"] == [],
           "a task is awaited of the thread that runs it, and of nobody before", owners)
    tap.ok("time limit" in threads["early"]["root"] and "behind a deadlock" in threads["victim"]["root"],
           "a time limit is no deadlock", threads["early"], threads["victim"])


GO = """package main
import ("fmt"; "os"; "sync"; "time")
func main() {
    var a, b sync.Mutex
    both := func(first, second *sync.Mutex) { first.Lock(); time.Sleep(100 * time.Millisecond); second.Lock() }
    go both(&a, &b)
    go both(&b, &a)
    fmt.Println("ready")
    reader, _, _ := os.Pipe()
    reader.Read(make([]byte, 1))
}
"""


def real_go(tap, folder):
    """Where there is a compiler of Go: its threads, and their stacks. stuck-go.py has goroutines."""
    if not shutil.which("go"):
        return
    source, program = os.path.join(folder, "both.go"), os.path.join(folder, "both")
    with open(source, "w") as file:
        file.write(GO)
    environment = {**os.environ, "GOCACHE": os.path.join(folder, "go-cache"), "GO111MODULE": "off"}
    built = subprocess.run(["go", "build", "-o", program, source], env=environment, capture_output=True, text=True)
    if built.returncode != 0:
        kernel.note(built.stderr)
        return
    case = Case("go", [program], folder)
    try:
        settle([case])
        case.look()
    finally:
        case.end()
    waits = [one["wait"] for one in case.report["threads"] if one["wait"] and one["wait"]["in"] == "futex"]
    tap.ok(no_deadlock(case) and waits and all((one["object"] or "").startswith("futex (of a Go program)")
                                               for one in waits), "threads of Go", case.report)
    stacks = [[frame["function"] for frame in one["stack"] or ()] for one in case.report["threads"]]
    beyond = [stack for stack in stacks if "runtime.mcall" in stack[:-1]]
    tap.ok(not beyond, "stacks of Go: no frame behind where a goroutine was left", beyond)
    tap.ok(any(stack[-1:] == ["runtime.mcall"] for stack in stacks) or not any(map(any, stacks)),
           "stacks of Go: until there", stacks)


def wrong_words(tap):
    for words, status in ((["stuck"], 2), (["stuck", "x"], 2), (["stuck", "--comm", "no such"], 3),
                          (["stuck", "2"], 3), (["stuck", str(2 ** 31 - 1)], 3)):
        done = kernel.holdup(*words)
        tap.ok(done.returncode == status and kernel.clear_error(done, lines=2) and not done.stdout,
               "%s: status %d" % (" ".join(words), status), done)


def everything(tap, cases):
    """All at once has each deadlock of its own."""
    done = kernel.holdup("stuck", "--all", "--json")
    report = json.loads(done.stdout)
    found = {tuple(cycle) for cycle in report["cycles"]}
    wanted = {tuple(cycle) for case, _, _ in cases if case.report for cycle in case.report["cycles"]}
    tap.ok(done.returncode == 1 and wanted <= found, "--all finds all of them", found, wanted)
    text = kernel.holdup("stuck", "--all", "--stacks")
    tap.ok("> lock_both (" in text.stdout, "--stacks: in the text, too", text.stdout)
    tap.ok(len(re.findall(r"^DEADLOCK", text.stdout, re.M)) >= len(wanted), "--all: in the text, too",
           text.stdout)
    kernel.note("--all: %d threads in %.0f ms" % (len(report["threads"]), report["took_ns"] / 1e6))


def musl_cases(folder):
    """Mutexes of musl, but for normal ones, have an owner; so have joined threads. Of normal ones exclusion tells."""
    if not shutil.which("musl-gcc"):
        return []
    tool = os.path.join(folder, "musl")
    headers = ["-idirafter", "/usr/include", "-idirafter", "/usr/include/%s-linux-gnu" % os.uname().machine]
    done = subprocess.run(["musl-gcc", "-static", "-D_GNU_SOURCE", *headers, "-o", tool, SOURCE], capture_output=True, text=True)
    if done.returncode != 0:
        kernel.note(done.stderr)
        return []
    return [(Case("musl " + kind, [tool, kind], folder), judge, "musl: " + what) for kind, judge, what in
            (("normal", closed_in("mutex (of musl, notes no owner) "), "two mutexes, which have no owner"),
             ("rwlock", closed_in("rwlock held by a writer (of musl, notes no owner) "), "two rwlocks"),
             ("lost", closed_in("condition variable (by its layout) "), "a condition variable"),
             ("stdio", ring_of(2), "the lock of a FILE and a join"),
             ("shared-mutex", shared_mutex, "a mutex at the begin of what is mapped"),
             ("recursive", two_and_a_victim, "two recursive mutexes"),
             ("robust", two_and_a_victim, "two robust mutexes"), ("join", ring_of(3), "three that join each other"))]


def main():
    if os.geteuid() != 0:
        kernel.skip("not root")
    tap = kernel.Tap()
    with kernel.workdir() as folder:
        cases = [(Case(kind, [PROGRAM, kind], folder), judge, what) for kind, judge, what in KINDS]
        cases.append((Case("python", ["/usr/bin/python3", "-c", PYTHON], folder), python_locks,
                      "two locks of Python, whose owners have no name"))
        cases.append((Case("queued", ["/usr/bin/python3", "-c", QUEUED], folder), queued,
                      "connections that nobody has accepted yet"))
        cases.append((Case("rlocks", ["/usr/bin/python3", "-c", RLOCKS], folder), rlocks,
                      "two RLocks of Python"))
        cases.append((Case("rlocks timed", ["/usr/bin/python3", "-c", RLOCKS_TIMED], folder), rlocks_timed,
                      "two RLocks of Python, one with a time limit"))
        cases.append((Case("loop", ["/usr/bin/python3", "-c", LOOP], folder), loop_of("can write to the pipe"), "a pipe of its own, and a child's"))
        cases.append((Case("signalled", ["/usr/bin/python3", "-c", SIGNALLED], folder),
                      loop_of("inferred: is a child, and its end calls a handler of SIGCHLD"), "a pipe that SIGCHLD fills"))
        cases.append((Case("terminal", ["/usr/bin/python3", "-c", TERMINAL], folder), terminal, "the master of a terminal"))
        cases.append((Case("tcp", ["/usr/bin/python3", "-c", TCP], folder), ring_of(2),
                      "two ends of a TCP connection"))
        try:
            cases += musl_cases(folder)
            all_cases(tap, cases)
            everything(tap, cases)
            without_root(tap, cases[0][0])
        finally:
            for case, _, _ in cases:
                case.end()
        java_monitors(tap, folder)
        real_java(tap, folder)
        real_go(tap, folder)
        by_a_cgroup(tap, folder)
        by_an_io_limit(tap, folder)
        busy_ones(tap, folder)
        hostile_name(tap, folder)
        wrong_words(tap)
    tap.end()


if __name__ == "__main__":
    main()
