#!/usr/bin/env python3
"""A server that accepts nobody: who connects waits, as the queue of connections is full, and that is told.

There is room for one. Of TCP the request of the second one is dropped, and sent again by a timer; a unix socket has who
connects wait.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

SERVER = """
import os, socket, time
unix = %r
listener = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
listener.bind("socket" if unix else ("127.0.0.1", 0))
listener.listen(0)
server = os.fork()
if server == 0:
    time.sleep(1.5)
    for i in range(2): listener.accept()[0].close()
    os._exit(0)
address = listener.getsockname()
listener.close()
for i in range(2):
    socket.socket(socket.AF_UNIX if unix else socket.AF_INET).connect(address)
os.wait()
print(server)
"""


def check(tap, name, unix, expected, least_ns):
    done = kernel.holdup("record", "-o", name, "--", sys.executable, "-S", "-c", SERVER % unix)
    tap.ok(done.returncode == 0, name + ": is recorded", done.stderr)
    server = done.stdout.split()[-1]
    done = kernel.holdup("why", "--causality", name)
    text = " ".join(done.stdout.split())
    told = expected.replace("SERVER", server)
    by_timer = unix or "tcp_write_timer" in text  # on a busy machine ksoftirqd may have handled the packet later
    tap.ok(told in text or not by_timer, name + ": the full queue is told", done.stdout)
    report, _ = kernel.why(name)
    tap.ok(not kernel.bad_sums(report), name + ": sums are exact", kernel.bad_sums(report))
    tap.ok(report["verdict"][0]["ns"] >= least_ns, name + ": it has its time", kernel.show_roots(report))


def main():
    kernel.need()
    tap = kernel.Tap()
    check(tap, "tcp", False, "not answered at first; inferred: the queue of connections was full; listening there: python3[SERVER]",
          0.9 * kernel.S)
    check(tap, "unix", True, "; its queue of connections was full", 1.3 * kernel.S)
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
