#!/usr/bin/env python3
"""holdup delays compare on the two cases it is for: a program with one thread and with more, and one
slow host of many. What is different is planted; the host names are those of the files."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import delays  # noqa: E402
import kernel  # noqa: E402

# So many threads share a fixed work, and the only CPU. At the end each tells how long the kernel says it waited.
JOB = """
import hashlib, os, sys, threading
os.sched_setaffinity(0, {0})
count, data = int(sys.argv[1]), bytes(1 << 20)
waits = []
def work():
    for _ in range(96 // count): hashlib.sha256(data).digest()
    waits.append(int(open("/proc/thread-self/schedstat").read().split()[1]))
threads = [threading.Thread(target=work) for _ in range(count)]
for thread in threads: thread.start()
for thread in threads: thread.join()
with open("waits-%d" % count, "a") as file: print(sum(waits), file=file)
"""

# A fixed work, and reads past the caches, if wanted.
HOST = """
import hashlib, mmap, os, sys
data = bytes(1 << 20)
for _ in range(48): hashlib.sha256(data).digest()
fd = os.open("data", os.O_RDONLY | os.O_DIRECT)
page = mmap.mmap(-1, 1 << 16)
for i in range(int(sys.argv[1])): os.preadv(fd, [page], (i * 7919 % 512) << 16)
"""


def compare(*words):
    done = kernel.holdup("delays", "--json", "compare", *words)
    report = json.loads(done.stdout)
    return {part["part"]: part for part in report["parts"]}, report["chance"]


def told_waits(count):
    """What the runs with so many threads say of themselves, on average."""
    with open("waits-%d" % count, encoding="utf-8") as file:
        waits = [int(line) for line in file]
    return sum(waits) / len(waits)


def threads(tap):
    """Four threads on one CPU do the work of one: they wait for it, and run no longer."""
    for count in (1, 4):
        for i in range(4):
            delays.listen("--save", "%d-%d" % (count, i), "--", sys.executable, "-c", JOB, count)
    files = [["%d-%d" % (count, i) for i in range(4)] for count in (1, 4)]
    parts, chance = compare(*files[0], "--", *files[1])
    cpu, ran = parts["waiting for a CPU"], parts["running"]
    truth = told_waits(4) - told_waits(1)
    tap.ok(2.5 < chance < 2.7, "4 and 4 runs: Student's t at 1 %% is 3.71, so %.2f deviations" % chance)
    tap.ok(cpu["deviations"] > chance and abs(cpu["difference_ns"] - truth) < 0.2 * truth,
           "four threads wait for the CPU: %+.0f ms, they say %+.0f ms, %.1f deviations"
           % (cpu["difference_ns"] / 1e6, truth / 1e6, cpu["deviations"]), parts)
    tap.ok(abs(ran["difference_ns"]) < 0.3 * ran["first_ns"], "they run as long", ran)
    text = kernel.holdup("delays", "compare", *files[0], "--", *files[1]).stdout
    tap.ok(text.startswith("most of the difference: waiting for a CPU") and
           "chance" not in text.split("\n")[0], "that is what is told", text)
    same, chance = compare(*files[0][:2], "--", *files[0][2:])
    tap.ok(chance > 9, "of 2 and 2 runs of the same little can be said: %.1f" % chance, same)


def hosts(tap):
    """Eight hosts, of which one reads a disk where the others do not."""
    with open("data", "wb") as file:
        for _ in range(32):
            file.write(os.urandom(1 << 20))
        os.fsync(file.fileno())
    files = ["host%d" % i for i in range(1, 9)]
    for name in files:
        delays.listen("--save", name, "--", sys.executable, "-c", HOST, 2000 if name == "host6" else 0)
    parts, chance = compare(*files)
    disk = parts["waiting for disk"]
    tap.ok(7 < chance < 9 and disk["farthest"] == 5 and disk["deviations"] > chance and
           disk["distance_ns"] > 20e6, "host6 stands out in disk: %+.0f ms, %.1f of the usual, chance %.1f"
           % (disk["distance_ns"] / 1e6, disk["deviations"], chance), parts)
    text = kernel.holdup("delays", "compare", *files).stdout
    tap.ok("of 8 runs" in text and "1 of 100" in text, "it says how many there were, and what chance does",
           text)
    kernel.note(text)
    parts, chance = compare(*[name for name in files if name != "host6"])
    disk = parts["waiting for disk"]
    tap.ok(disk["deviations"] < chance, "without it no other does", disk, chance)


def main():
    kernel.need()
    if not os.path.exists(delays.SWITCH):
        kernel.skip("this kernel has no " + delays.SWITCH)
    tap = kernel.Tap()
    with delays.accounting():
        threads(tap)
        hosts(tap)
    tap.end()


if __name__ == "__main__":
    with kernel.workdir("/var/tmp"):
        main()
