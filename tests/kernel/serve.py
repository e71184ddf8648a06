#!/usr/bin/env python3
"""holdup delays serve over a while: programs come and go, clients are slow, ports are taken."""
import os
import re
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import delays  # noqa: E402
import kernel  # noqa: E402

DEBIAN_PYTHON = "/usr/bin/python3"
PARSE = """
import sys
try:
    from prometheus_client.openmetrics import parser
except ImportError:
    sys.exit(77)
print(sum(len(family.samples) for family in parser.text_string_to_metric_families(sys.stdin.read())))
"""

# Programs of ever new names, some of which no label should have as they are.
CHURN = r"""
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
count = 0
while True:
    for odd in (b"plain", b'quo"te', b"back\\slash", b"new\nline", b"\xff\xfe", "j\u00f6b".encode()):
        count += 1
        if os.fork() == 0:
            libc.prctl(15, b"%d%s" % (count % 40, odd), 0, 0, 0)
            end = time.monotonic() + 0.4
            while time.monotonic() < end: sum(range(1000))
            os._exit(0)
    time.sleep(0.25)
    try:
        while os.waitpid(-1, os.WNOHANG)[0]: pass
    except ChildProcessError: pass
"""


def peer(text):
    """Samples that the parser of Prometheus' own library finds; None without it."""
    for python in (sys.executable, DEBIAN_PYTHON):
        done = subprocess.run([python, "-c", PARSE], input=text, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 77:
            return int(done.stdout) if done.returncode == 0 else done.stderr
    return None


def steady(tap):
    """Programs come and go: no counter goes back, and there are never more names than allowed."""
    with kernel.running(sys.executable, "-c", CHURN), delays.server("--labels", "30") as (process, port):
        down, names, totals, texts = [], set(), [], []
        before = {}
        for _ in range(6):
            status, text = delays.ask(port)
            texts.append(text)
            if status != 200:
                break
            metrics = delays.Metrics(text)
            counters = {key: value for key, value in metrics.values.items()
                        if metrics.types[key[0]] == "counter"}
            down += [key for key, value in before.items() if counters.get(key, -1) < value]
            before = counters
            names |= {dict(labels)["command"] for _, labels in counters if "command" in dict(labels)}
            totals.append(sum(value for (family, _), value in counters.items()
                              if family == "holdup_command_run_seconds"))
            time.sleep(1.1)
        tap.ok(len(totals) == 6 and not down, "no counter goes back in 6 answers", down[:5])
        tap.ok(len(names) <= 30, "30 names at most, ever: %d" % len(names), sorted(names))
        tap.ok(totals == sorted(totals) and totals[-1] > totals[0] + 1,
               "what runs is counted: %.1f to %.1f s" % (totals[0], totals[-1]), totals)
        samples = peer(texts[-1])
        if samples is None:
            tap.skipped("another parser", "no prometheus_client")
        else:
            tap.ok(samples == len(delays.Metrics(texts[-1]).values),
                   "another parser finds as many: %s" % samples, len(delays.Metrics(texts[-1]).values))
        process.send_signal(signal.SIGTERM)
        tap.ok(process.wait(5) == 0, "SIGTERM ends it", process.returncode)


def head(tap):
    with delays.server() as (_, port):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as sock:
            sock.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = b""
            while b"\r\n\r\n" not in answer:
                answer += sock.recv(1000)
        tap.ok(re.search(rb"\r\nContent-Type: application/openmetrics-text; version=1\.0\.0; "
                         rb"charset=utf-8\r\n", answer), "the type of the answer", answer[:400])


def slow_reader(tap):
    """Who does not take its answer holds nobody up, and does not keep the server from ending."""
    with delays.server() as (process, port):
        stuck = []
        for _ in range(20):
            sock = socket.socket()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            sock.connect(("127.0.0.1", port))
            sock.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            stuck.append(sock)
        begin = time.monotonic()
        tap.ok(all(delays.ask(port)[0] == 200 for _ in range(5)) and time.monotonic() - begin < 5,
               "others are answered meanwhile")
        process.send_signal(signal.SIGTERM)
        tap.ok(process.wait(5) == 0, "and it ends", process.returncode)
        for sock in stuck:
            sock.close()


def refused(tap):
    with delays.server() as (_, port):
        done = kernel.holdup("delays", "serve", port, timeout=10)
        tap.ok(done.returncode == 3 and "in use" in done.stderr and kernel.clear_error(done),
               "a port in use: " + done.stderr.strip(), done)
    done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                           "--bounding-set=-net_bind_service", kernel.HOLDUP, "delays", "serve",
                           "80"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=10, check=False)
    with open("/proc/sys/net/ipv4/ip_unprivileged_port_start") as file:
        if int(file.read()) > 80:
            tap.ok(done.returncode == 3 and "denied" in done.stderr, "a port of others: " +
                   done.stderr.strip().split("\n")[-1], done)


def main():
    kernel.need("setpriv")
    if not os.path.exists(delays.SWITCH):
        kernel.skip("this kernel has no " + delays.SWITCH)
    tap = kernel.Tap()
    with delays.accounting():
        steady(tap)
        head(tap)
        slow_reader(tap)
        refused(tap)
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
