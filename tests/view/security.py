#!/usr/bin/env python3
"""The viewer's server as a stranger meets it: by raw sockets, with no token, other names, paths that trick, slowly, a thousand at once."""
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import viewer  # noqa: E402

SECRET = b"futex-convoy"  # in every answer that tells of the trace


def tokens(tap, server):
    wrong = server.token[:-1] + ("0" if server.token[-1] != "0" else "1")
    paths = ["/", "/start", "/favicon.ico", "//", "/%s" % server.token, "/%s/" % wrong, "/%s/start" % wrong,
             "/%s0/start" % server.token, "/%s" % server.token[:-1], "/x/%s/start" % server.token,
             "/../%s/start" % server.token, "*", "/%s?start" % server.token]
    bad = {path: server.ask(path)[0] for path in paths}
    tap.ok(len(server.token) >= 32 and int(server.token, 16), "the token has 128 bits and more")
    tap.ok(set(bad.values()) == {403}, "without the token all is 403", {k: v for k, v in bad.items() if v != 403})
    tap.ok(all(SECRET not in server.ask(path)[2] for path in paths), "and nothing of the trace is said")


def origins(tap, server):
    start = "/%s/start" % server.token
    hosts = ["evil.example", "evil.example:%d" % server.port, "localhost:%d" % server.port, "127.0.0.1", "127.0.0.1:1",
             server.host + ".evil.example", "[::1]:%d" % server.port]
    answers = [server.ask(start, host=host) for host in hosts]
    tap.ok(all(400 <= status < 500 and SECRET not in body for status, _, body in answers), "another Host is 4xx",
           [(host, answer[0]) for host, answer in zip(hosts, answers)])
    foreign = ["http://evil.example", "null", "https://" + server.host, "http://127.0.0.1:1", "http://localhost:%d" % server.port]
    answers = [server.ask(start, ["Origin: " + origin]) for origin in foreign]
    tap.ok(all(400 <= status < 500 and SECRET not in body for status, _, body in answers), "another Origin is 4xx",
           [(origin, answer[0]) for origin, answer in zip(foreign, answers)])
    tap.ok(server.ask(start, ["Origin: http://" + server.host])[0] == 200, "its own origin is answered")
    upgrade = ["Upgrade: websocket", "Connection: Upgrade", "Origin: http://evil.example", "Sec-WebSocket-Version: 13",
               "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
    tap.ok(server.ask(start, upgrade)[0] == 403, "a websocket of another page is 403")
    tap.ok(server.raw(b"GET %s HTTP/1.1\r\nConnection: close\r\n\r\n" % start.encode())[9:12] in (b"400", b"403"), "without a Host it is 4xx")


def paths(tap, server):
    tricks = ["../start", "./start", "start/", "start/..", "..%2fstart", "%2e%2e/start", "sta%72t", "start%00", "start%00.js", "main.js%00",
              "//start", "/start", "\\start", "style.css/", "index.html", "embed.py", "page/main.js", "..;/start", "START", "start;x", "%s/" % server.token]
    answers = {trick: server.question(trick) for trick in tricks}
    tap.ok({status for status, _ in answers.values()} == {404}, "paths that trick are 404",
           {k: v[0] for k, v in answers.items() if v[0] != 404})
    etc = server.raw(b"GET /%s/../../../../etc/passwd HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n"
                     % (server.token.encode(), server.host.encode()))
    tap.ok(b"404" in etc[:20] and b"root:" not in etc, "no file is read by its path")
    page = "/%s/" % server.token
    tap.ok([server.ask(page, method=method)[0] for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE")] == [405] * 5,
           "methods but GET and HEAD are 405")
    status, _, body = server.ask(page, method="HEAD")
    tap.ok(status == 200 and body == b"", "HEAD has no body")


def headers(tap, server):
    status, head, body = server.ask("/%s/" % server.token)
    policy = head.get("content-security-policy", "")
    tap.ok(status == 200 and body.startswith(b"<!doctype html>"), "the page is there")
    tap.ok("default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy and "*" not in policy,
           "its policy allows what it is made of, and nothing else", policy)
    tap.ok(head.get("referrer-policy") == "no-referrer" and head.get("x-content-type-options") == "nosniff"
           and "set-cookie" not in head and "access-control-allow-origin" not in head, "no referrer, no cookie, no other origin", head)


def sizes(tap, server):
    page = "/%s/" % server.token
    tap.ok(server.question("search?q=" + "a" * 9000)[0] == 400, "a query of 9,000 bytes is 400")
    tap.ok(server.ask(page, ["X: " + "a" * 60000])[0] in (0, 413, 431), "a head of 60,000 bytes is refused")
    tap.ok(server.question("lanes?rows=" + ",".join(["c0"] * 2000))[0] == 400, "2,000 lanes are 400")
    junk = [os.urandom(200), b"\0" * 500, b"GET", b"\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"A" * 100000]
    for data in junk:
        with contextlib.suppress(OSError), server.connect() as link:
            link.sendall(data)
    tap.ok(server.question("start")[0] == 200, "bytes that are no request leave it as it was")


def crowds(tap, server):
    """Connections that ask nothing keep nobody waiting; those that send a byte now and then are shut."""
    idle = []
    with contextlib.suppress(OSError):
        for _ in range(1000):
            link = socket.socket()
            link.setblocking(False)
            link.connect_ex(("127.0.0.1", server.port))
            idle.append(link)
    begin = time.monotonic()
    status = server.question("start")[0]
    tap.ok(status == 200, "with 1,000 connections that ask nothing it answers, after %.1f s" % (time.monotonic() - begin))
    for link in idle:
        link.close()
    slow = server.connect()
    slow.sendall(b"GET /" + server.token.encode())
    begin, shut = time.monotonic(), False
    while not shut and time.monotonic() - begin < 40:
        time.sleep(1)
        try:
            slow.sendall(b"a")
            slow.settimeout(0.01)
            shut = slow.recv(10) == b""
        except socket.timeout:
            pass
        except OSError:
            shut = True
    tap.ok(shut, "who sends a byte now and then is shut, after %.0f s" % (time.monotonic() - begin))
    tap.ok(server.question("start")[0] == 200, "and others are answered")


def rights(tap, server):
    """What the process can still do: its filter counts, and its threads have it."""
    status = {}
    for task in os.listdir("/proc/%d/task" % server.process.pid):
        with open("/proc/%d/task/%s/status" % (server.process.pid, task), encoding="ascii") as lines:
            status[task] = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    tap.ok(len(status) >= 3 and all(one["Seccomp"].strip() == "2" and one["NoNewPrivs"].strip() == "1" for one in status.values()),
           "each of its %d threads is filtered and gets no new rights" % len(status),
           [(task, one["Seccomp"].strip()) for task, one in status.items()])


def two_at_once(tap, path):
    with viewer.Server(path) as one, viewer.Server(path) as other:
        tap.ok(one.opened()["state"] == other.opened()["state"] == "ready" and one.token != other.token, "two viewers at once")
        tap.ok(other.ask("/%s/start" % one.token)[0] == 403, "the token of one is none for the other")


def the_end(tap, path):
    for number in (signal.SIGINT, signal.SIGTERM):
        server = viewer.Server(path)
        server.opened()
        tap.ok(server.end(number) == 0, "it ends with 0 on %s" % number.name)
    server = viewer.Server(path)
    tap.ok(server.end() == 0, "and before the trace is open")
    with viewer.Server("/nowhere.holdup") as server:
        tap.ok(server.opened()["state"] == "failed", "a trace that is not there: the page is told")
        tap.ok(server.question("verdict")[0] == 503, "and there are no answers")
    with viewer.Server(path) as server:
        server.opened()
        for name in os.listdir(path):
            subprocess.run(["rm", "-rf", os.path.join(path, name)], check=True)
        tap.ok(server.question("verdict")[0] == 200 and json.loads(server.question("verdict")[1])["rows"],
               "a trace that is removed while it is viewed is still explained")


def the_last_page(tap, path):
    """It ends by itself a while after the last question, never before the first one, and with --keep not at all."""
    with viewer.Server(path, "--listen", HOLDUP_VIEW_LEAVE_S="1", SSH_CONNECTION="192.0.2.1 50000 192.0.2.7 22", SUDO_USER="ann;\033[1m") as server, \
            viewer.Server(path, "--keep", HOLDUP_VIEW_LEAVE_S="1") as kept:
        line = server.process.stdout.readline().strip()
        tap.ok(line == "ssh -N -L %d:127.0.0.1:%d ann;\\x1b[1m@192.0.2.7" % (server.port, server.port), "--listen prints the line of ssh", line)
        time.sleep(2.5)
        tap.ok(server.process.poll() is None, "before the first page it waits")
        kept.opened()
        server.opened()
        time.sleep(0.5)
        server.question("alive")
        tap.ok(server.process.poll() is None, "as long as a page asks it stays")
        server.process.wait(viewer.PATIENCE)
        tap.ok(server.process.returncode == 0, "it ends after the last page", server.process.returncode)
        tap.ok(kept.process.poll() is None and kept.question("alive")[0] == 200, "with --keep it stays")


def main():
    tap = viewer.Tap()
    with viewer.trace("futex-convoy") as path:
        with viewer.Server(path) as server:
            start = server.opened()
            tap.ok(start["state"] == "ready", "the trace is opened", start)
            for test in (tokens, origins, paths, headers, sizes, rights, crowds):
                test(tap, server)
            tap.ok(server.end() == 0, "it ends with 0")
        two_at_once(tap, path)
        the_end(tap, path)
        the_last_page(tap, path)
    tap.end()


main()
