#!/usr/bin/env python3
"""A queue of a device holds packets back: it is told by the device that has it.

150,000 bytes go through a token bucket of 800,000 bit/s, in a network of their own: once on the loopback, once from one
end of a veth pair to the other, where they arrive at a device that has no queue. All but the bucket's 20 KB take their
time by the rate.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

BYTES, BURST, RATE = 150_000, 20_000, 800_000
LEAST_NS = (BYTES - 2 * BURST) * 8 * kernel.S // RATE
SERVE = """
import socket, sys
listener = socket.create_server((sys.argv[1], 7000))
print('ready', flush=True)
peer, left = listener.accept()[0], %d
while left > 0: left -= len(peer.recv(65536))
peer.send(b'k')
""" % BYTES
ASK = """
import socket, sys
peer = socket.create_connection((sys.argv[1], 7000))
peer.sendall(b'x' * %d)
peer.recv(1)
""" % BYTES
LOOPBACK = "ip link set lo up mtu 1500\naddress=127.0.0.1 device=lo there="
PAIR = """
ip link set lo up
unshare -n sleep 60 & holder=$!
until [ "$(readlink /proc/$holder/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.02; done
ip link add near type veth peer name far netns $holder
ip addr add 10.9.9.1/24 dev near && ip link set near up
nsenter -t $holder -n ip addr add 10.9.9.2/24 dev far
nsenter -t $holder -n ip link set far up
address=10.9.9.2 device=near there="nsenter -t $holder -n"
"""
RUN = """
queue "$device" || exit 77
$there %s -c "$0" $address >ready &
until [ -s ready ]; do sleep 0.02; done
rm ready
%s -c "$1" $address
status=$?
[ -z "$holder" ] || kill $holder
exit $status
""" % (sys.executable, sys.executable)
# How such a queue is made, and what is told of it.
QUEUES = {
    "tbf": ("tc qdisc add dev $1 root tbf rate %dbit burst %d latency 2s" % (RATE, BURST), "tbf, rate %d bit/s" % RATE),
    "htb": ("tc qdisc add dev $1 root handle 1: htb default 10 && "
            "tc class add dev $1 parent 1: classid 1:10 htb rate %dbit burst %d" % (RATE, BURST), "htb, rate %d bit/s" % RATE),
    "htb of two": ("tc qdisc add dev $1 root handle 1: htb default 10 && "
                   "tc class add dev $1 parent 1: classid 1:10 htb rate %dbit burst %d && "
                   "tc class add dev $1 parent 1: classid 1:11 htb rate %dbit" % (RATE, BURST, RATE),
                   "htb, each of 2 classes has its rate"),
}


def check(tap, name, network, device, kind):
    make, told = QUEUES[kind]
    name += ", " + kind
    report, done = kernel.why("--", "unshare", "-n", "sh", "-c", "queue() { %s; }\n" % make + network + RUN, SERVE, ASK)
    if done.returncode == 77 or report is None:
        tap.skipped(name, "no network of its own, or no such queue here")
        return
    held = [root for root in report["verdict"] if root["kind"] == "throttled"]
    # The first packets may have come before its classes were made.
    tap.ok(held and max(held, key=lambda root: root["ns"])["what"] == "queue of %s: tc qdisc %s" % (device, told),
           name + ": its rate is told", kernel.show_roots(report))
    other = sum(root["ns"] for root in held if not root["what"].startswith("queue of " + device))
    ns = sum(root["ns"] for root in held) - other
    tap.ok(ns >= LEAST_NS, "%s: the queue of %s has its time" % (name, device), ns, kernel.show_roots(report))
    tap.ok(other <= 0.02 * ns, "%s: no other device has a queue" % name, kernel.show_roots(report))
    tap.ok(not kernel.bad_sums(report), name + ": sums are exact", kernel.bad_sums(report))


def main():
    kernel.need("unshare", "nsenter", "ip", "tc")
    if subprocess.run(["unshare", "-n", "true"], check=False).returncode:
        kernel.skip("no network namespaces here")
    tap = kernel.Tap()
    check(tap, "loopback", LOOPBACK, "lo", "tbf")
    check(tap, "pair", PAIR, "near", "tbf")
    check(tap, "pair", PAIR, "near", "htb")
    check(tap, "pair", PAIR, "near", "htb of two")
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
