#!/usr/bin/env python3
"""Who asks until a time-out: what did not come is told, and who has it, listens there, or read the request.

flock -w asks for a lock with a timer that interrupts it. A connection of which a listener with a full queue
never hears stays under way until poll, select or epoll have waited long enough. The holder and the listener
say who they are; one that answers after all is no time-out.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

HOLDER = """exec 9>%s
flock 9
echo $$ >holder
sleep %s
"""
# The holder is no child: its end would end the shell's wait.
LOCKER = """(bash holder.sh &)
until [ -s holder ]; do :; done
flock -w %d %s true
kill $(cat holder) 2>/dev/null
true
"""

CLIENT = """import os, select, socket, struct, sys, time
ready, tell = os.pipe()
listener = os.fork()
if not listener:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        os.write(tell, struct.pack("i", listening.getsockname()[1]))
        time.sleep(20)
address = "127.0.0.1", struct.unpack("i", os.read(ready, 4))[0]
before = [socket.socket() for _ in range(3)]
for one in before:
    one.setblocking(False)
    one.connect_ex(address)
time.sleep(0.1)
client = socket.socket()
client.setblocking(False)
client.connect_ex(address)
if sys.argv[1] == "poll":
    watch = select.poll()
    watch.register(client, select.POLLOUT)
    watch.poll(900)
elif sys.argv[1] == "epoll":
    watch = select.epoll()
    watch.register(client, select.EPOLLOUT)
    watch.poll(0.9)
elif sys.argv[1] == "select":
    select.select([], [client], [], 0.9)
else:
    timed = socket.socket()
    timed.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 900000))
    timed.connect_ex(address)
os.kill(listener, 9)
print(listener, address[1])
"""

# Connected, then a time-out: there is nothing to tell of the connection.
CONNECTED = """import select, socket, sys
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(5)
client = socket.socket()
client.setblocking(False)
client.connect_ex(listener.getsockname())
select.select([], [client], [], 5)
select.select([client], [], [], 0.9)
print(0, 0)
"""


# It is asked, and sleeps or works instead of answering; or it answers, and nothing is due when the time is up.
ASKED = """import os, socket, sys, time
listener = socket.create_server(("127.0.0.1", 0))
server = os.fork()
if not server:
    connection, _ = listener.accept()
    connection.recv(9)
    end = time.monotonic() + 20
    if sys.argv[1] == "answers":
        connection.send(b"x")
    while sys.argv[1] == "works" and time.monotonic() < end:
        pass
    time.sleep(20)
client = socket.create_connection(listener.getsockname())
client.send(b"x")
client.settimeout(0.9)
if sys.argv[1] == "answers":
    client.recv(1)
try:
    client.recv(1)
except TimeoutError:
    pass
os.kill(server, 9)
print(server)
"""


def first_of(report):
    return report["verdict"][0] if report and report["verdict"] else None


def lock(tap, holds_s, patience_s):
    path = os.path.abspath("lock")
    with open("holder.sh", "w", encoding="ascii") as file:
        file.write(HOLDER % (path, holds_s))
    with open("locker.sh", "w", encoding="ascii") as file:
        file.write(LOCKER % (patience_s, path))
    report, done = kernel.why("--unfold", "--stack-min", "off", "--sample", "off", "--", "bash", "locker.sh")
    with open("holder", encoding="ascii") as file:
        holder = int(file.read())
    os.unlink("holder")
    hops = report["chain"] if report else []
    tap.ok(any(holder in (hop.get("expects") or {}).values() or (hop.get("who") or {}).get("tid") == holder
               for hop in hops) and any(path in hop.get("object", "") for hop in hops),
           "flock -w %d of a lock that is held for %s s: its holder is told, and the file" % (patience_s, holds_s),
           holder, hops, done.stderr)
    root = first_of(report)
    tap.ok(root and root["class"] == "held_up" and root["ns"] > 0.5 * kernel.S and not root["timed_out"],
           "and that it was held up", root)


def connect(tap, how, script):
    with open("client.py", "w", encoding="ascii") as file:
        file.write(script)
    report, done = kernel.why("--unfold", "--stack-min", "off", "--sample", "off", "--", sys.executable,
                              "client.py", how)
    listener, port = map(int, done.stdout.split())
    waits = [root for root in (report or {}).get("verdict", []) if root["timed_out"] and root["ns"] > 0.8 * kernel.S]
    words = [root["object"] for root in waits]
    if not listener:
        tap.ok(len(words) == 1 and "not connected" not in words[0], "a time-out of a connection is one", words)
        return
    told = "->127.0.0.1:%d; not connected yet; listening there: " % port
    tap.ok(len(words) == 1 and told in words[0] and words[0].endswith("[%d]" % listener),
           how + ": a connection under way says that, and who listens", told, listener, words, done.stderr)


def asked(tap, how, did):
    with open("asked.py", "w", encoding="ascii") as file:
        file.write(ASKED)
    report, done = kernel.why("--unfold", "--stack-min", "off", "--sample", "off", "--", sys.executable,
                              "asked.py", how)
    waits = [root for root in (report or {}).get("verdict", []) if root["timed_out"] and root["ns"] > 0.8 * kernel.S]
    data = waits[0].get("why_data") if len(waits) == 1 else "no time-out"
    good = not data if did is None else data and (data["kind"], data["who"]["tid"]) == (
        "unanswered", int(done.stdout)) and (data.get("call"), data["did"]) in did
    tap.ok(good, "a time-out of a request: the server " + how, done.stdout, waits, done.stderr)


def main():
    kernel.need("flock")
    tap = kernel.Tap()
    lock(tap, 1.2, 30)
    lock(tap, 30, 1)
    for how in ("poll", "select", "epoll", "connect"):
        connect(tap, how, CLIENT)
    connect(tap, "connected", CONNECTED)
    asked(tap, "sleeps", {("clock_nanosleep", "waited")})
    asked(tap, "works", {(None, "worked"), (None, "had_no_cpu")})
    asked(tap, "answers", None)
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
