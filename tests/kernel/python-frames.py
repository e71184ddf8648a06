#!/usr/bin/env python3
"""python-frames.py - functions of a Python script are named where it waits and works, with their lines.

What is planted: load() sleeps, crunch() computes, Store.add() waits for a lock, in a thread. Each version of
CPython that is installed and known is asked: 3.11 to 3.15. HOLDUP_PYTHONS names further ones, with ":" between.
"""
import json
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

VERSIONS = ("3.11", "3.12", "3.13", "3.14", "3.15")
ASK = "import sys; print(sys.implementation.name, '%d.%d' % sys.version_info[:2] + sys.abiflags, sys.executable)"

PROG = """\
import os, threading, time

def load():
    time.sleep(0.3)

def crunch():
    end, sum = time.process_time() + 0.3, 0
    while time.process_time() < end:
        for i in range(5000):
            sum = (sum * 31 + i) & 0xffff

class Store:
    def __init__(self):
        self.lock = threading.Lock()
    def add(self):
        with self.lock:
            pass

def through_c():
    return sorted([1, 2], key=lambda x: load() if x == 1 else 2.0, reverse=bool(load()) or True)

store = Store()
store.lock.acquire()
thread = threading.Thread(target=store.add)
thread.start()
load()
crunch()
try:
    through_c()
except TypeError:
    pass
store.lock.release()
thread.join()
if os.fork() == 0:
    def in_child():
        time.sleep(0.1)
    in_child()
    os._exit(0)
os.wait()
"""

# In the end one thread keeps the interpreter lock in calls of C, and another one wants it.
SHORT = """\
import threading, time
def soon_over():
    time.sleep(0.05)
def spins():
    while not ends:
        pass
soon_over()
ends = False
thread = threading.Thread(target=spins)
thread.start()
for _ in range(3):
    sum(range(1000000))
ends = True
thread.join()
"""

# The generator's frame lies in its object; asyncio and the queue wait in Python's own library.
HANGS = """\
import asyncio, queue, threading, time
lock = threading.Lock()
class Store:
    def add(self):
        with lock:
            pass
def steps():
    yield time.sleep(1000)
def runs_steps():
    return list(steps())
def takes():
    queue.Queue().get()
lock.acquire()
for function in (Store().add, runs_steps, takes):
    threading.Thread(target=function, daemon=True).start()
print("ready", flush=True)
async def never():
    await asyncio.sleep(1000)
def serves():
    asyncio.run(never())
serves()
"""

# Threads at many depths, through C and generators: what Python itself says of each stack is the truth.
TRUTH = """\
import json, os, subprocess, sys, threading, time, traceback
def deep(n, how):
    if n == 0:
        (time.sleep(1000) if how == 0 else lock.acquire() if how == 1 else list(map(time.sleep, [1000])))
    elif n % 3 == 1:
        return list(map(lambda k: deep(k, how), [n - 1]))
    elif n % 3 == 2:
        return max(steps(n, how))
    deep(n - 1, how)
def steps(n, how):
    yield deep(n - 1, how)
lock = threading.Lock()
lock.acquire()
threads = [threading.Thread(target=deep, args=(i % 12, i % 3), daemon=True) for i in range(48)]
for thread in threads:
    thread.start()
def depth(thread):
    return [(frame.f_code.co_qualname, line) for frame, line in traceback.walk_stack(sys._current_frames()[thread.ident])]
def look():
    done = subprocess.run([sys.argv[1], "stuck", "--json", "--stacks", str(os.getpid())], capture_output=True)
    return {told["tid"]: [(frame["function"], frame["line"]) for frame in told["stack"] or [] if (frame["module"] or "").endswith(".py")]
            for told in json.loads(done.stdout)["threads"]}
for _ in range(30):
    told = look()
    wrong = [(told.get(thread.native_id), depth(thread)) for thread in threads if told.get(thread.native_id) != depth(thread)]
    if not wrong:
        break
    time.sleep(0.1)
print(json.dumps([sum(len(depth(thread)) for thread in threads), wrong]), flush=True)
os._exit(0)
"""


def pythons():
    """Of each known version one: its path."""
    folders = ["/usr/bin", "/usr/local/bin"] + os.environ.get("PATH", "").split(":")
    paths = os.environ.get("HOLDUP_PYTHONS", "").split(":")
    paths += [os.path.join(folder, name) for folder in folders for name in ("python3", *("python" + version for version in VERSIONS))]
    found = {}
    for path in paths:
        done = os.access(path, os.X_OK) and subprocess.run([path, "-c", ASK], capture_output=True, text=True, check=False)
        told = done.stdout.split() if done and done.returncode == 0 else []
        if len(told) == 3 and told[0] == "cpython" and told[1] in VERSIONS:
            found.setdefault(told[1], told[2])
    return sorted(found.items())


def write(name, text):
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)


def line_of(text, words):
    return next(i for i, line in enumerate(text.splitlines(), 1) if words in line)


def report(*argv):
    return json.loads(subprocess.run([kernel.HOLDUP, *argv], capture_output=True, check=True, timeout=120).stdout)


def record(trace, *command):
    subprocess.run([kernel.HOLDUP, "record", "--sample", "499", "--stack-min", "1ms", "-o", trace, "--", *command],
                   capture_output=True, timeout=180, check=True)


def rows(trace, *options):
    told = report("hot", "--json", *options, trace)
    return {row["function"]: row for row in told["functions"] if row["module"] == "prog.py"}


def awaited(trace):
    """What threads of Python waited for in futex()."""
    told = subprocess.run([kernel.HOLDUP, "export", "--format", "jsonl", "--what", "waits", trace], capture_output=True, text=True,
                          check=True, timeout=120).stdout
    waits = [json.loads(line) for line in told.splitlines()]
    return sorted({wait["object"] for wait in waits if wait["in"] == "futex" and wait["who"]["comm"].startswith("python")})


def told_by_why(tap, version, trace):
    verdict = report("why", "--json", "--top", "1000", trace)["verdict"]
    waits = [row["waited_in"][0] for row in verdict if row["kind"] == "timer" and row["waited_in"]]
    load = next((place for place in waits if place["function"] == "load"), {})
    tap.ok((load.get("module"), load.get("line"), load.get("file")) ==
           ("prog.py", line_of(PROG, "sleep(0.3)"), os.path.abspath("prog.py")), version + ": why names load() and its line", waits)
    work = [place["function"] for row in verdict if row["kind"] == "working" for place in row["code"][:1]]
    tap.ok(work[:1] == ["crunch"], version + ": crunch() is first of what it worked at", work)


def told_by_hot(tap, version, trace):
    work, waits, native = rows(trace), rows(trace, "--waits"), rows(trace, "--native")
    by_self = sorted(work, key=lambda name: -work[name]["self_ns"])
    tap.ok(by_self[:1] == ["crunch"], version + ": hot names crunch() first", work)
    tap.ok(native.get("crunch", {"self_ns": 0})["self_ns"] < work["crunch"]["self_ns"],
           version + ": --native counts what it called apart", native)
    tap.ok(waits.get("load", {}).get("self_ns", 0) >= 900 * kernel.MS, version + ": hot --waits has all of load()", waits.get("load"))
    tap.ok(waits.get("Store.add", {}).get("self_ns", 0) >= 900 * kernel.MS, version + ": a method's wait for a lock", list(waits))
    tap.ok(waits.get("in_child", {}).get("self_ns", 0) >= 90 * kernel.MS, version + ": and a wait of a forked process", list(waits))


def told_in_order(tap, version, trace):
    """From C into Python and back: sorted() called the lambda, which called load()."""
    told = report("hot", "--json", "--waits", "--tree", trace)
    open_, found = [], []
    for node in told["tree"]:
        open_[node["depth"]:] = [node["function"]]
        if node["function"] == "load":
            found.append([name for name in open_ if name in ("<module>", "through_c", "through_c.<locals>.<lambda>", "load")])
    tap.ok(["<module>", "through_c", "through_c.<locals>.<lambda>", "load"] in found, version + ": through C in the right order", found)


def recorded(tap, version, python):
    write("prog.py", PROG)
    write("short.py", SHORT)
    record("prog.holdup", python, "prog.py")
    told_by_why(tap, version, "prog.holdup")
    told_by_hot(tap, version, "prog.holdup")
    told_in_order(tap, version, "prog.holdup")
    record("short.holdup", python, "short.py")
    told = report("hot", "--json", "--waits", "short.holdup")["functions"]
    tap.ok(any(row["function"] == "soon_over" and row["self_ns"] for row in told), version + ": of a process that is soon over", told)
    objects = awaited("short.holdup")
    tap.ok("Python's GIL" in objects, version + ": a wait for the interpreter lock is told as that", objects)
    if shutil.which("unshare"):
        record("ns.holdup", "unshare", "--pid", "--fork", python, "short.py")
        told = report("hot", "--json", "--waits", "ns.holdup")["functions"]
        tap.ok(any(row["function"] == "soon_over" and row["self_ns"] for row in told), version + ": in a namespace of its own", told)
    for trace in ("prog.holdup", "short.holdup", "ns.holdup"):
        shutil.rmtree(trace, ignore_errors=True)


def places(threads):
    return sorted({frame["function"] for thread in threads for frame in (thread["stack"] or []) if frame["module"] == "hangs.py"})


def stuck(tap, version, python):
    write("hangs.py", HANGS)
    wanted = {"Store.add", "steps", "runs_steps", "takes", "serves"}
    with kernel.running(python, "hangs.py", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdout.readline()
        for _ in range(50):
            told = report("stuck", "--json", "--stacks", str(process.pid))
            if wanted <= set(places(told["threads"])):
                break
            time.sleep(0.1)
        tap.ok(wanted <= set(places(told["threads"])), version + ": stuck names the function of each thread", places(told["threads"]))
        text = subprocess.run([kernel.HOLDUP, "stuck", str(process.pid)], capture_output=True, text=True, timeout=60, check=False).stdout
        tap.ok("at takes (hangs.py:%d" % line_of(HANGS, "queue.Queue()") in text, version + ": the place is not in Python's own library", text)


def against_itself(tap, version, python):
    write("truth.py", TRUTH)
    done = subprocess.run([python, "truth.py", kernel.HOLDUP], capture_output=True, text=True, timeout=120, check=True)
    frames, wrong = json.loads(done.stdout)
    tap.ok(frames > 400 and not wrong, version + ": the stacks of 48 threads are those that Python tells: %d frames" % frames, wrong[:3])


def main():
    kernel.need()
    found = pythons()
    if not found:
        kernel.absent("no CPython of 3.11 to 3.15")
    tap = kernel.Tap()
    for version, python in found:
        kernel.note("%s: %s" % (version, python))
        recorded(tap, version, python)
        stuck(tap, version, python)
        against_itself(tap, version, python)
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
