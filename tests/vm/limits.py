"""Limits of cgroup version 2 and queues of devices, on a kernel that has them all.

Each load's own clock says how long the limit held it back: the bytes that it moved, over the rate that it may.
"""
import contextlib
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "kernel", "lib")]
import kernel  # noqa: E402

TOP = "/sys/fs/cgroup"
PING = """
import os, socket
listener = socket.create_server(('127.0.0.1', 0))
if os.fork() == 0:
    peer = listener.accept()[0]
    while peer.send(peer.recv(100)): pass
    os._exit(0)
peer = socket.create_connection(listener.getsockname())
for i in range(4):
    peer.send(b'x' * 10)
    peer.recv(10)
"""
BULK = """
import os, socket
listener = socket.create_server(('127.0.0.1', 0))
if os.fork() == 0:
    peer, left = listener.accept()[0], 150000
    while left > 0: left -= len(peer.recv(65536))
    peer.send(b'k')
    os._exit(0)
peer = socket.create_connection(listener.getsockname())
peer.sendall(b'x' * 150000)
peer.recv(1)
"""
NOBODY = """
import socket
peer = socket.socket()
peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_SYNCNT, 1)
try:
    peer.connect(('127.0.0.1', 9))
except TimeoutError:
    pass
"""
FROZEN = """
import os, socket, time
here, there = socket.socketpair()
server = os.fork()
if server == 0:
    while there.send(there.recv(10)): pass
def write(name, text):
    with open('%s/' + name, 'w') as file:
        file.write(text)
write('cgroup.procs', str(server))
write('cgroup.freeze', '1')
if os.fork() == 0:
    time.sleep(0.7)
    write('cgroup.freeze', '0')
    os._exit(0)
here.send(b'x')
here.recv(10)
os.kill(server, 9)
os.wait()
os.wait()
"""


@contextlib.contextmanager
def cgroup(name, **limits):
    """With controller_file=value for each limit. Gives its folder."""
    folder = os.path.join(TOP, name)
    with open(TOP + "/cgroup.subtree_control", "w") as file:
        file.write("+cpu +io +memory")
    os.mkdir(folder)
    try:
        for limit, value in limits.items():
            with open(os.path.join(folder, limit.replace("_", ".", 1)), "w") as file:
                file.write(value)
        yield folder
    finally:
        os.rmdir(folder)


@contextlib.contextmanager
def queue(*words):
    """Of the loopback device, whose packets are as small as those of a real one."""
    subprocess.run(["ip", "link", "set", "lo", "mtu", "1500"], check=True)
    subprocess.run(["tc", "qdisc", "add", "dev", "lo", "root", *words], check=True)
    try:
        yield
    finally:
        subprocess.run(["tc", "qdisc", "del", "dev", "lo", "root"], check=True)
        subprocess.run(["ip", "link", "set", "lo", "mtu", "65536"], check=True)


def within(folder, *words):
    return ["sh", "-c", 'echo $$ >%s/cgroup.procs; exec "$@"' % folder, "sh", *words]


def python(text):
    return ["python3", "-c", text]


def charged(tap, name, command, what, least_ns, most_ns, kind="throttled"):
    """As much of the window as the limit took is charged to it, by its name."""
    report, done = kernel.why("--", *command)
    if not tap.ok(report is not None and done.returncode == 0, name + ": is explained", done.stderr):
        return
    tap.ok(not kernel.bad_sums(report), name + ": sums are exact", kernel.bad_sums(report))
    ns = sum(root["ns"] for root in report["verdict"] if root["kind"] == kind and what in root["what"])
    tap.ok(least_ns <= ns <= most_ns, "%s: %s has its time" % (name, what), ns, kernel.show_roots(report))


def check_disk(tap):
    device = os.stat("/").st_dev
    limit = "%d:%d rbps=1048576" % (os.major(device), os.minor(device))
    with open("file", "wb") as file:
        file.write(b"x" * (2 << 20))
        os.fsync(file.fileno())
    with cgroup("slow", io_max=limit) as folder:
        charged(tap, "io.max", within(folder, "dd", "if=file", "of=/dev/null", "bs=64k", "iflag=direct"),
                "I/O limit of cgroup /slow (io.max rbps=1048576)", 1.7 * kernel.S, 2.1 * kernel.S)


def check_memory(tap):
    with cgroup("high", memory_high=str(16 << 20)) as folder:
        charged(tap, "memory.high", within(folder, *python("x = [bytearray(b'x' * (1 << 20)) for i in range(15)]")),
                "over the limit of cgroup /high (memory.high 16 MiB)", 0.1 * kernel.S, 100 * kernel.S)
        with open(folder + "/memory.events") as file:
            tap.ok(int(dict(line.split() for line in file)["high"]) > 0, "memory.high: the kernel counted it")


def check_queues(tap):
    with queue("netem", "delay", "100ms"):
        # The handshake is two packets; each of four exchanges, two.
        charged(tap, "netem", python(PING), "queue of lo: tc qdisc netem, delay 100000 us", 0.9 * kernel.S, 1.2 * kernel.S)
    with queue("tbf", "rate", "800kbit", "burst", "20k", "latency", "2s"):
        charged(tap, "tbf", python(BULK), "queue of lo: tc qdisc tbf, rate 800000 bit/s", 1.1 * kernel.S, 1.7 * kernel.S)
    with queue("netem", "loss", "100%"):
        # Sent again after 1 s, given up after 2 s more.
        charged(tap, "lost packets", python(NOBODY), "TCP gave up: the other end acknowledged nothing", 2.8 * kernel.S,
                3.3 * kernel.S, kind="network")


def check_freezer(tap):
    with cgroup("frozen") as folder:
        charged(tap, "cgroup.freeze", python(FROZEN % folder), "frozen", 0.6 * kernel.S, 0.9 * kernel.S, kind="stopped")


def check(tap):
    if not os.path.exists(TOP + "/cgroup.controllers"):
        tap.skipped("limits", "no cgroups of version 2")
        return
    for one in (check_disk, check_memory, check_queues, check_freezer):
        one(tap)
