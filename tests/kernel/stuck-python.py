#!/usr/bin/env python3
"""stuck-python.py - who has a threading.Lock: who took it by `with` is named, who took it by acquire() is not.

The program says itself which of its threads waits for which. Each version of CPython that is installed and known is
asked: 3.11 to 3.15. HOLDUP_PYTHONS names further ones, with ":" between.
"""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

VERSIONS = ("3.11", "3.12", "3.13", "3.14", "3.15")
ASK = "import sys; print(sys.implementation.name, '%d.%d' % sys.version_info[:2] + sys.abiflags, sys.executable)"

# Each holder is inside `with` of the lock in its own way, but for the last three.
PROGRAM = """
import contextlib, json, multiprocessing, os, queue, sys, threading, time
truth, started = {}, []
def start(function, *args):
    thread = threading.Thread(target=function, args=args, daemon=True)
    thread.start()
    started.append(thread)
    return thread.native_id
def sleeps(*_):
    time.sleep(1000)
def plain(lock, other):
    with lock:
        sleeps()
def in_loops(lock, other):
    for _ in range(3):
        for item in [1, 2]:
            try:
                with other:
                    with lock:
                        try:
                            sleeps()
                        except ValueError:
                            pass
            finally:
                pass
def through_c(lock, other):
    with lock:
        return sorted([1, 2], key=sleeps)
def in_generator(lock, other):
    def steps():
        with lock:
            yield sleeps()
    return list(steps())
def in_handler(lock, other):
    try:
        raise ValueError
    except ValueError:
        with lock:
            try:
                raise KeyError
            except KeyError as error:
                sleeps(error)
def of_two(lock, other):
    with other, lock:
        sleeps()
def in_body(lock, other):
    class Body:
        with lock:
            sleeps()
def with_stack(lock, other):
    a, b, c, d = 1, 2, 3, 4
    call = lambda *x: None
    with lock:
        call(a, b, [c, d, sleeps()])
@contextlib.contextmanager
def held(lock):
    with lock:
        yield
@contextlib.contextmanager
def was_held(lock):
    with lock:
        pass
    yield
def in_manager(lock, other):
    with held(other), held(lock):
        sleeps()
def after_manager(lock, other):
    with was_held(lock):
        lock.acquire()
        sleeps()
def by_hand(lock, other):
    lock.acquire()
    sleeps()
def stale(lock, other):
    with lock:
        pass
    for item in [lock]:
        lock.acquire()
        sleeps()
def waits(lock):
    with lock:
        pass
def waits_by_name(lock):
    lock.acquire()
def waits_a_while(lock):
    lock.acquire(timeout=1000)
for holder in (plain, in_loops, through_c, in_generator, in_handler, of_two, in_body, with_stack, in_manager, after_manager, by_hand, stale):
    lock, other = threading.Lock(), threading.Lock()
    has = start(holder, lock, other)
    while not lock.locked():
        time.sleep(0.01)
    time.sleep(0.05)
    for waiter in (waits, waits_by_name, waits_a_while):
        truth[start(waiter, lock)] = (holder.__name__, has if holder not in (after_manager, by_hand, stale) else None)
# Two take two in opposite order; one takes one twice.
a, b, c, barrier = threading.Lock(), threading.Lock(), threading.Lock(), threading.Barrier(2)
def both(first, second):
    with first:
        barrier.wait()
        with second:
            pass
def twice():
    with c:
        with c:
            pass
left, right, once = start(both, a, b), start(both, b, a), start(twice)
truth[left], truth[right], truth[once] = ("ring", right), ("ring", left), ("twice", once)
time.sleep(0.5)
# A Condition, one of a Lock, one in whose wait() a thread is, the Lock of a Queue, a thread that is joined.
def in_condition(condition):
    with condition:
        sleeps()
def in_wait(condition):
    with condition:
        condition.wait()
def in_mutex(queue):
    with queue.mutex:
        sleeps()
def puts(queue):
    queue.put(1)
for condition, holds in ((threading.Condition(), True), (threading.Condition(threading.Lock()), True), (threading.Condition(threading.Lock()), False)):
    has = start(in_condition if holds else in_wait, condition)
    time.sleep(0.1)
    if not holds:
        has = start(by_hand, condition, None)
        time.sleep(0.1)
    truth[start(waits, condition)] = (("holder" if holds else "waiter") + " of a Condition", has if holds else None)
line = queue.Queue()
has = start(in_mutex, line)
time.sleep(0.1)
truth[start(puts, line)] = ("queue", has)
if sys.version_info < (3, 13):
    truth[start(started[0].join)] = ("join", started[0].native_id)
# Processes: one that has a lock, and two that take two in opposite order.
def in_process(lock):
    with lock:
        sleeps()
def both_shared(first, second, barrier):
    with first:
        barrier.wait()
        with second:
            pass
def wait_shared(lock):
    lock.acquire()
ways = multiprocessing.get_context("fork")
def spawn(function, *args):
    process = ways.Process(target=function, args=args, daemon=True)
    process.start()
    return process.pid
shared = [ways.Lock() for _ in range(3)]
has = spawn(in_process, shared[0])
time.sleep(0.2)
truth[spawn(wait_shared, shared[0])] = ("process", has)
meets = ways.Barrier(2)
up, down = spawn(both_shared, shared[1], shared[2], meets), spawn(both_shared, shared[2], shared[1], meets)
truth[up], truth[down] = ("process in a ring", down), ("process in a ring", up)
time.sleep(0.5)
print(json.dumps([truth, [sorted((up, down)), sorted((left, right)), [once]], [os.getpid()] + [child.pid for child in multiprocessing.active_children()]]), flush=True)
time.sleep(1000)
"""

BUSY = """
import contextlib, threading, time
a, b = threading.Lock(), threading.Lock()
@contextlib.contextmanager
def held(lock):
    with lock:
        yield
def work(first):
    while True:
        with held(a):
            with b:
                for _ in range(3):
                    try:
                        time.sleep(0.0002)
                    finally:
                        pass
        with first:
            sum(range(1000))
for i in range(6):
    threading.Thread(target=work, args=((a, b)[i % 2],), daemon=True).start()
print("ready", flush=True)
time.sleep(100000)
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


def as_the_program_says(tap, version, python):
    with kernel.running(python, "-c", PROGRAM, stdout=subprocess.PIPE, text=True) as process:
        truth, cycles, pids = json.loads(process.stdout.readline())
        time.sleep(0.3)
        done = kernel.holdup("stuck", "--json", *pids)
    told = json.loads(done.stdout)
    threads = {one["tid"]: one for one in told["threads"]}
    for tid, (how, holder) in truth.items():
        thread = threads[int(tid)]
        edges = [edge["tid"] for edge in thread["waits_for"]]
        tap.ok(edges == ([holder] if holder else []), "%s: %s: who has the Lock" % (version, how), holder, thread)
    nameless = [threads[int(tid)]["wait"]["object"] for tid, (_, holder) in truth.items() if not holder]
    tap.ok(all(word.startswith(("Python Lock (notes no owner)", "Python RLock")) for word in nameless), version + ": that nobody is known is said", nameless)
    tap.ok(sorted(told["cycles"]) == sorted(cycles) and done.returncode == 1, version + ": deadlocks", told["cycles"], cycles)


def never_a_deadlock(tap, version, python):
    with kernel.running(python, "-c", BUSY, stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        end, looks, seen, bad = time.monotonic() + 2, 0, 0, []
        while not looks or time.monotonic() < end:
            done = kernel.holdup("stuck", "--json", process.pid)
            told = json.loads(done.stdout)
            looks += 1
            seen += sum("inside `with`" in edge["how"] for one in told["threads"] for edge in one["waits_for"])
            if told["cycles"]:
                bad.append(told)
    tap.ok(not bad, "%s: no deadlock in %d looks at busy threads, which named %d holders" % (version, looks, seen), bad[:1])


def main():
    kernel.need()
    found = pythons()
    if not found:
        kernel.absent("no CPython of 3.11 to 3.15")
    tap = kernel.Tap()
    for version, python in found:
        kernel.note("%s: %s" % (version, python))
        as_the_program_says(tap, version, python)
        never_a_deadlock(tap, version, python)
    tap.end()


if __name__ == "__main__":
    main()
