#!/usr/bin/env python3
"""A program that hangs: where it hangs is told, and not who looked at it or ended it.

One hung before it was recorded, and does so to the end: only the state dump knows its system call.
Another one is ended by this test: the time until then is not the test's.
"""
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

HANG_S = 0.3


def call_of(pid):
    """The number of the system call that a process sleeps in, or None."""
    try:
        with open("/proc/%s/syscall" % pid) as file:
            first = file.read().split()[0]
    except FileNotFoundError:
        return None
    return int(first) if first.isdigit() else None


def hung(pid, limit_s=20):
    """Wait until the process sleeps in a call, the same one twice."""
    end = time.monotonic() + limit_s
    before = None
    while time.monotonic() < end:
        call = call_of(pid)
        if call is not None and call == before:
            return True
        before = call
        time.sleep(0.01)
    return False


def before_the_recording(tap, folder):
    fifo = os.path.join(folder, "own")
    os.mkfifo(fifo)
    # It has both ends itself: nobody else can end that.
    with kernel.running("sh", "-c", "exec cat <>" + fifo) as cat:
        if not hung(cat.pid):
            kernel.absent("/proc/PID/syscall does not tell what a process sleeps in")
        done = kernel.holdup("record", "-d", HANG_S, "-o", "hung.holdup")
        tap.ok(done.returncode == 0, "hung before: recorded", done.stderr)
    report, done = kernel.why("--pid", cat.pid, "hung.holdup")
    if not tap.ok(report and len(report["verdict"]) == 1, "hung before: one reason", done.stderr):
        return
    root = report["verdict"][0]
    tap.ok((root["kind"], root["who"]["tid"], root["what"]) == ("stuck", cat.pid, "read")
           and root["object"].startswith("fd 0"), "hung before: in its system call", root)
    tap.ok(root["why"] == "the recording ended", "hung before: to the end", root)


def the_other_end(tap):
    """Of a pipe that was there before: who has it is told, and what that one did."""
    with kernel.running("sh", "-c", "sleep 300 | cat") as shell:
        cat, sleep = child_of(shell.pid, "cat"), child_of(shell.pid, "sleep")
        if not cat or not hung(cat):
            kernel.absent("no cat that hangs")
        done = kernel.holdup("record", "-d", HANG_S, "-o", "pipe.holdup")
        tap.ok(done.returncode == 0, "other end: recorded", done.stderr)
    report, done = kernel.why("--tid", cat, "pipe.holdup")
    if not tap.ok(report and len(report["verdict"]) == 1, "other end: one reason", done.stderr):
        return
    root, first = report["verdict"][0], report["chain"][0]
    tap.ok((root["kind"], root["who"]["tid"]) == ("timer", sleep), "other end: what it does", root)
    tap.ok(first["who"]["tid"] == cat and first["expects"]["tid"] == sleep and
           first["instead"] == "the recording ended", "other end: who has it", first)


ANSWERS = """import os, select, socket, sys, time
listens = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    client = socket.create_connection(listens.getsockname())
    time.sleep(300)
    os._exit(0)
client, how = listens.accept()[0], sys.argv[1]
listens.close()
client.setblocking(how == "send")
while True:
    try:
        client.send(bytes(1 << 20))
    except BlockingIOError:
        if how == "poll":
            poll = select.poll()
            poll.register(client, select.POLLOUT)
            poll.poll()
        elif how == "epoll":
            poll, own = select.epoll(), os.pipe()
            poll.register(client, select.EPOLLOUT)
            poll.register(own[0], select.EPOLLIN)
            poll.poll()
        else:
            select.select([], [client], [])
"""


def a_client_takes_nothing(tap):
    """Its server waits to write to it: that is no waiting for work."""
    for how in ("send", "poll", "select", "epoll"):
        with kernel.running(sys.executable, "-c", ANSWERS, how) as server:
            if not hung(server.pid):
                kernel.absent("no server that hangs")
            client = int(subprocess.check_output(["ps", "-o", "pid=", "--ppid", str(server.pid)]))
            done = kernel.holdup("record", "-d", HANG_S, "-o", how + ".holdup")
            tap.ok(done.returncode == 0, how + ": recorded", done.stderr)
            os.kill(client, signal.SIGKILL)
        report, done = kernel.why("--pid", server.pid, how + ".holdup")
        root = report["verdict"][0] if report else {"kind": "", "who": {}}
        tap.ok((root["kind"], root["who"].get("tid")) == ("timer", client), how + ": the client is awaited", root)


SELF = """import ctypes
mutex, libc = (ctypes.c_char * 64)(), ctypes.CDLL(None)
libc.pthread_mutex_lock(mutex)
libc.pthread_mutex_lock(mutex)
"""
# It listens, and never accepts; who connects waits for an answer.
LISTENS = """import socket, sys
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
sys.stdin.read()
"""
ASKS = """import socket, sys
socket.create_connection(("127.0.0.1", int(sys.argv[1]))).recv(1)
"""


def its_own_lock(tap):
    with kernel.running(sys.executable, "-c", SELF) as process:
        if not hung(process.pid):
            kernel.absent("/proc/PID/syscall does not tell what a process sleeps in")
        kernel.holdup("record", "-d", HANG_S, "-o", "self.holdup")
    report, done = kernel.why("--pid", process.pid, "self.holdup")
    hop = report["chain"][0] if report else {}
    tap.ok(hop.get("what") == "futex" and hop.get("expects", {}).get("tid") == process.pid
           and "glibc" in hop.get("expects_inferred", "") and "in a circle" in report["verdict"][0]["why"],
           "own lock: who locks a mutex twice waits for itself, as inferred", hop, done.stderr)


def nobody_accepts(tap):
    with kernel.running(sys.executable, "-c", LISTENS, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                        text=True) as server:
        port = server.stdout.readline().strip()
        with kernel.running(sys.executable, "-c", ASKS, port) as client:
            if not hung(client.pid):
                kernel.absent("/proc/PID/syscall does not tell what a process sleeps in")
            kernel.holdup("record", "-d", HANG_S, "-o", "connected.holdup")
    report, done = kernel.why("--pid", client.pid, "connected.holdup")
    hop = report["chain"][0] if report else {}
    tap.ok(hop.get("expects", {}).get("tid") == server.pid and hop.get("expects_inferred") == "it listens there",
           "not accepted: who listens is waited for, as inferred", hop, done.stderr)


# One end of what nobody has recorded the making of: a pidfd of a child, a semaphore that it took, an RLock.
AWAITS = """import os, select
pid = os.fork()
if not pid:
    os.execvp("sleep", ["sleep", "300"])
poll = select.poll()
poll.register(os.pidfd_open(pid), select.POLLIN)
print(pid, flush=True)
poll.poll()
"""
RLOCK = """import threading, time
lock = threading.RLock()
def keeper():
    lock.acquire()
    print(threading.get_native_id(), flush=True)
    time.sleep(300)
thread = threading.Thread(target=keeper, daemon=True)
thread.start()
while lock.acquire(blocking=False):
    lock.release()
    time.sleep(0.01)
lock.acquire()
"""

# A semaphore in memory that one other process has, which took it and says so nowhere.
SHARED = """import multiprocessing, time
def keep(lock, ready):
    lock.acquire()
    ready.set()
    time.sleep(300)
if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    lock, ready = context.Lock(), context.Event()
    keeper = context.Process(target=keep, args=(lock, ready), daemon=True)
    keeper.start()
    ready.wait()
    print(keeper.pid, flush=True)
    lock.acquire()
"""


def seen_by_the_recorder(tap, name, program, how):
    """What no event tells, the recorder sees as it looks: the program prints who is awaited. No 'how': it is known."""
    with kernel.running(sys.executable, "-c", program, stdout=subprocess.PIPE, text=True) as process:
        awaited = int(process.stdout.readline())
        if not hung(process.pid):
            kernel.absent("/proc/PID/syscall does not tell what a process sleeps in")
        kernel.holdup("record", "-p", process.pid, "-d", HANG_S, "-o", name + ".holdup")
        with contextlib.suppress(ProcessLookupError):
            os.kill(awaited, signal.SIGTERM)
    report, done = kernel.why("--tid", process.pid, name + ".holdup")
    hop = report["chain"][0] if report else {}
    inferred = hop.get("expects_inferred_data") or {}
    tap.ok(hop.get("expects", {}).get("tid") == awaited
           and (inferred.get("kind") == "seen" and inferred.get("name") == how if how else not inferred),
           name + (": who is awaited is as the recorder saw" if how else ": who is awaited is known"), hop,
           done.stderr)


# It is asked by a datagram, and answers none.
DATAGRAMS = """import os, socket, time
server = socket.socket(type=socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 0))
pid = os.fork()
if not pid:
    server.recv(9)
    time.sleep(300)
client = socket.socket(type=socket.SOCK_DGRAM)
client.connect(server.getsockname())
server.close()
print(pid, flush=True)
client.send(b"x")
client.recv(9)
"""


def no_datagram(tap):
    with kernel.running(sys.executable, "-c", DATAGRAMS, stdout=subprocess.PIPE, text=True) as process:
        awaited = int(process.stdout.readline())
        if not hung(process.pid):
            kernel.absent("/proc/PID/syscall does not tell what a process sleeps in")
        kernel.holdup("record", "-p", process.pid, "-d", HANG_S, "-o", "udp.holdup")
        os.kill(awaited, signal.SIGTERM)
    report, done = kernel.why("--pid", process.pid, "udp.holdup")
    hop = report["chain"][0] if report else {}
    tap.ok(hop.get("expects", {}).get("tid") == awaited, "datagram: who is bound there is awaited", hop, done.stderr)


def killed_while_it_hangs(tap):
    """The recorder has looked before: a program may be killed at any time."""
    script = "import signal\n" + RLOCK.replace("\nlock.acquire()", "\nsignal.alarm(5)\nlock.acquire()")
    done = kernel.holdup("record", "-o", "killed.holdup", "--", sys.executable, "-c", script)
    awaited = done.stdout.split()
    report, done = kernel.why("killed.holdup")
    hops = [hop for hop in report["chain"] if hop.get("expects")] if report else []
    tap.ok(awaited and [hop["expects"]["tid"] for hop in hops[:1]] == [int(awaited[0])],
           "killed: whom it had waited for is known", hops, done.stderr)


def with_a_limit(tap, folder):
    """timeout(1) waits for its child, in vain: told is what the child waits for. Who only sleeps, and then kills, does not wait for it."""
    fifo = os.path.join(folder, "nobody")
    os.mkfifo(fifo)
    for name, command, waits in (("limit", ["timeout", HANG_S, "cat", fifo], True),
                                 ("sleep", ["sh", "-c", "cat %s & sleep %s; kill $!" % (fifo, HANG_S)], False)):
        done = kernel.holdup("record", "-o", name + ".holdup", "--", *command)
        report, done = kernel.why(name + ".holdup")
        rows = [root for root in report["verdict"] if (root.get("inferred_data") or {}).get("kind") == "gave_up"] if report else []
        if waits:
            tap.ok(rows and (rows[0]["who"]["comm"], rows[0]["what"]) == ("cat", "openat") and
                   rows[0]["ns"] >= HANG_S * 0.8e9, "limit: it is charged to what its child waited for", kernel.show_roots(report))
        else:
            tap.ok(report and not rows, "sleep: a child that is killed then was not waited for", kernel.show_roots(report))


def child_of(parent, comm, limit_s=20):
    """The child of that name, when it has run it."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/stat" % pid) as file:
                    name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
            except OSError:
                continue
            if name == comm and int(rest.split()[1]) == parent:
                return int(pid)
        time.sleep(0.02)
    return None


def child_of_name(name, argument):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid) as file:
                words = file.read().split("\0")
        except OSError:
            continue
        if words[:2] == [name, argument]:
            return int(pid)
    return None


def end_it(fifo):
    """End the cat of the recorded command a while after it hangs."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        pid = child_of_name("cat", fifo)
        if pid and hung(pid):
            time.sleep(HANG_S)
            os.kill(pid, signal.SIGTERM)
            return
        time.sleep(0.02)


def ended_by_somebody(tap, folder):
    fifo = os.path.join(folder, "nobody-writes")
    os.mkfifo(fifo)
    ender = threading.Thread(target=end_it, args=(fifo,))
    ender.start()
    report, done = kernel.why("--", "sh", "-c", "cat %s; :" % fifo)
    ender.join()
    if not tap.ok(report is not None, "ended: explained", done.stderr):
        return
    stuck = [root for root in report["verdict"] if root["kind"] == "stuck"]
    tap.ok([(root["who"]["comm"], root["what"]) for root in stuck] == [("cat", "openat")]
           and stuck[0]["ns"] >= HANG_S * 0.9e9, "ended: it hung in its system call",
           kernel.show_roots(report))
    tap.ok(stuck and stuck[0]["why"].startswith("SIGTERM of ")
           and stuck[0]["why"].endswith(" ended it"), "ended: by whom", stuck)
    tap.ok(not [root for root in report["verdict"]
                if (root["who"] or {}).get("tgid") == os.getpid() and root["kind"] == "timer"],
           "ended: the test's own sleep is not charged", kernel.show_roots(report))


def main():
    kernel.need()
    tap = kernel.Tap()
    with kernel.workdir() as folder:
        before_the_recording(tap, folder)
        the_other_end(tap)
        a_client_takes_nothing(tap)
        its_own_lock(tap)
        nobody_accepts(tap)
        seen_by_the_recorder(tap, "pidfd", AWAITS, None)
        seen_by_the_recorder(tap, "shared", SHARED, "shares_memory")
        if sys.implementation.name == "cpython" and (3, 11) <= sys.version_info < (3, 14):
            seen_by_the_recorder(tap, "rlock", RLOCK, "python_rlock")
            killed_while_it_hangs(tap)
        no_datagram(tap)
        with_a_limit(tap, folder)
        ended_by_somebody(tap, folder)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
