#!/usr/bin/env python3
"""`holdup why` attached to what runs: a process by number, by name, by cgroup, and all of them.

One program (attach-threads.c) has threads whose doings are known; what the report says of them must
agree with what the program printed.
"""
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

PROGRAM = os.path.join(kernel.PROGRAMS, "attach-threads")
OK, USAGE, COULD_NOT = 0, 2, 3
NOBODY = 65534
LOCK_OWNER = "glibc keeps the owner of a lock there"
CGROUPS = next((path for path in ("/sys/fs/cgroup", "/sys/fs/cgroup/cpu")
                if os.path.exists(os.path.join(path, "cgroup.procs"))), None)


class Planted:
    """The program, running, and the numbers of its threads by name."""

    def __init__(self, what, **options):
        self.process = subprocess.Popen([PROGRAM, what], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, **options)
        self.pid, self.tids = self.process.pid, {}
        for line in iter(self.process.stdout.readline, "ready\n"):
            name, tid = line.split()
            self.tids.setdefault(name, []).append(int(tid))

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.kill()
        self.process.communicate()


def by_owner(root, planted):
    return (root["who"] or {}).get("tid") in planted.tids["owner"]


def check_convoy(tap):
    with Planted("convoy") as planted:
        report, done = kernel.why("-p", planted.pid, "-d", "1", "-o", "kept")
        if not tap.ok(done.returncode == OK and report, "why -p explains a process that runs", done.stderr):
            return
        tap.ok(os.path.isdir("kept"), "-o keeps the trace")
        text = kernel.holdup("why", "-p", planted.pid, "kept").stdout
    process, first = report["process"], report["verdict"][0]
    apart = {row["who"]["tid"] for row in process["apart"]}
    tap.ok(first["class"] == "held_up" and by_owner(first, planted),
           "the first line of the whole process is the planted owner", kernel.show_roots(report))
    # The owner only sleeps: whether that is 99 % of its time depends on how soon it gets a CPU between.
    tap.ok(process["threads"] == 10
           and apart - set(planted.tids["owner"]) == {planted.pid, *planted.tids["idle"]},
           "threads that wait for work are counted apart", process)
    differ = {row["who"]["tid"]: row["kind"] for row in process["differ"]}
    tap.ok(differ.get(planted.tids["busy"][0]) in ("working", "cpu_queue", "preempted"),
           "the busy one is told as one that differs", differ)
    tap.ok(not set(differ) & set(planted.tids["waiter"]), "those that waited for the owner are not", differ)
    tap.ok(not kernel.bad_sums(report), "sums are exact", kernel.bad_sums(report))
    tap.ok(0.9 * kernel.S < kernel.window_ns(report) < 3 * kernel.S, "-d says how long", report["window"])
    tap.ok(any(root.get("waited_in") for root in report["verdict"]), "the code that waited is told", first)
    head = text.split("Where the time")[0]
    tap.ok("Largest hold-up" in head and "owner[%d]" % planted.tids["owner"][0] in head,
           "the head of the text names it, too", text)


def check_stall(tap):
    with Planted("stall") as planted:
        recording = subprocess.Popen([kernel.HOLDUP, "why", "--json", "-p", str(planted.pid), "-d", "30"],
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said = recording.stderr.readline()
        planted.process.stdin.write("\n")
        planted.process.stdin.flush()
        _, start, end = planted.process.stdout.readline().split()
        time.sleep(0.8)
        recording.send_signal(signal.SIGINT)
        out, more = recording.communicate(timeout=60)
    tap.ok("process %d for 30 s" % planted.pid in said, "it says what it records", said)
    if not tap.ok(recording.returncode == OK, "Ctrl-C ends it early, and it explains", more):
        return
    report = json.loads(out)
    worst, start, end = report["worst"], int(start), int(end)
    if tap.ok(worst is not None, "the worst moment is told", kernel.show_roots(report)):
        both = min(worst["window"]["end_ns"], end) - max(worst["window"]["start_ns"], start)
        tap.ok(both > 0.6 * (end - start), "and is the planted stall", worst, start, end)
        tap.ok(by_owner(report["verdict"][worst["cause"]], planted), "of the planted owner",
               report["verdict"][worst["cause"]])


def check_deadlock(tap):
    """Two mutexes in a ring: who waits for whom when the recording ends, in front of all else."""
    with kernel.running(os.path.join(kernel.PROGRAMS, "stuck-programs"), "normal", stdout=subprocess.PIPE,
                        text=True) as process:
        process.stdout.readline()
        report, done = kernel.why("-p", process.pid, "-d", "0.3")
        text = kernel.holdup("why", "-p", process.pid, "-d", "0.3").stdout
        children = {int(tid) for tid in os.listdir("/proc/%d/task" % process.pid)} - {process.pid}
    rings = report["deadlocks"] if isinstance(report, dict) else None
    tap.ok(rings and len(rings) == 1 and {one["who"]["tid"] for one in rings[0]} == children
           and {tid for one in rings[0] for tid in one["waits_for"]} == children,
           "a deadlock has its threads, and whom each waits for", rings, done.stderr)
    tap.ok(text.startswith("DEADLOCK: 2 threads wait for each other\n"), "and is the first line", text)


def check_names(tap):
    done = kernel.holdup("why", "--comm", "attach-threads")
    tap.ok(done.returncode == COULD_NOT and kernel.clear_error(done) and "attach-threads" in done.stderr,
           "a name of nobody is said to be that", done.stderr)
    with Planted("stall") as one:
        report, done = kernel.why("--comm", "attach-threads", "-d", "0.3")
        tap.ok(isinstance(report, dict) and report["target"]["tgid"] == one.pid,
               "a name of one process is that process", done.stderr)
        with Planted("stall") as two:
            done = kernel.holdup("why", "--comm", "attach-threads", "-d", "0.3")
            tap.ok(done.returncode == OK and "2 processes of attach-threads" in done.stderr
                   and all("attach-threads[%d]" % pid in done.stdout for pid in (one.pid, two.pid)),
                   "of several there is a line for each", done.stdout, done.stderr)
            report, done = kernel.why("-a", "-d", "0.3")
            pids = {each["target"]["tgid"] for each in report or []}
            tap.ok({one.pid, two.pid} <= pids and os.getpid() in pids, "-a has a result for each process",
                   pids, done.stderr)
            check_cgroup(tap, two.pid)


def check_cgroup(tap, pid):
    if not CGROUPS:
        tap.skipped("a cgroup", "no hierarchy is mounted")
        return
    name = "holdup-test-%d" % os.getpid()
    path = os.path.join(CGROUPS, name)
    try:
        os.mkdir(path)
        with open(os.path.join(path, "cgroup.procs"), "w") as file:
            file.write(str(pid))
    except OSError as error:
        with contextlib.suppress(OSError):
            os.rmdir(path)
        tap.skipped("a cgroup", str(error))
        return
    report, done = kernel.why("--cgroup", "/" + name, "-d", "0.3")
    tap.ok(isinstance(report, dict) and report["target"]["tgid"] == pid, "a cgroup of one process is that process",
           done.stderr)
    os.kill(pid, signal.SIGKILL) # a zombie leaves its cgroup at once
    while open(os.path.join(path, "cgroup.procs"), encoding="ascii").read():
        time.sleep(0.01)
    done = kernel.holdup("why", "--cgroup", "/" + name)
    tap.ok(done.returncode == COULD_NOT and kernel.clear_error(done) and name in done.stderr,
           "one without processes is said to be that", done.stderr)
    os.rmdir(path)
    done = kernel.holdup("why", "--cgroup", "/" + name)
    tap.ok(done.returncode == COULD_NOT and kernel.clear_error(done) and name in done.stderr,
           "and so is one that is not there", done.stderr)


def check_ends(tap):
    with Planted("stall") as planted:
        recording = subprocess.Popen([kernel.HOLDUP, "why", "--json", "-p", str(planted.pid), "-d", "60"],
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        recording.stderr.readline()
        time.sleep(0.3)
        planted.process.kill()
        out, more = recording.communicate(timeout=40)
    tap.ok(recording.returncode == OK and json.loads(out)["target"]["tgid"] == planted.pid,
           "a process that ends meanwhile is explained up to then", more)
    for args, words in ((["-d", "1"], "-a"), (["-p", "1", "-a"], "only one"), (["-d", "1", "x.holdup"], "trace"),
                        (["-d", "1", "--", "true"], "--duration"), (["--cgroup", "/", "x"], "--cgroup")):
        done = kernel.holdup("why", *args)
        tap.ok(done.returncode == USAGE and words in done.stderr, "wrong usage: " + " ".join(args), done.stderr)


def asleep(pid):
    """How many of its threads wait for a futex."""
    found = 0
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/wchan" % (pid, tid), encoding="ascii") as file:
            found += "futex" in file.read()
    return found


def check_rwlocks(tap):
    """Two threads wait for each other's rwlock, one to read, one to write: glibc's word says who has it."""
    program = subprocess.Popen([os.path.join(kernel.PROGRAMS, "stuck-programs"), "rwlock"], stdout=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 20
        while asleep(program.pid) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        report, done = kernel.why("-p", program.pid, "-d", "0.3")
    finally:
        program.kill()
        program.wait()
    owners = {(span["who"]["tid"], span["expects"]["tid"]) for span in (report or {"chain": []})["chain"]
              if span.get("expects_inferred") == LOCK_OWNER}
    tap.ok(len(owners) == 2 and owners == {(other, one) for one, other in owners},
           "who has a rwlock is told, to who reads and to who writes", owners, done.stderr)


def check_sampled(tap):
    """Without rights: looks at one's own process, each row labelled; another user's is refused."""
    rights = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    argv = [kernel.HOLDUP, "why", "-d", "1", "-p"]
    with tempfile.TemporaryDirectory() as folder, Planted("convoy", **rights) as planted:
        os.chmod(folder, 0o755)
        run = lambda *more: subprocess.run([*argv, *map(str, more)], capture_output=True, text=True,
                                           check=False, cwd=folder, **rights)
        done = run(planted.pid, "--json")
        text = run(planted.pid)
        other = run(1)
    if not tap.ok(done.returncode == OK and "no permission to trace" in done.stderr, "without rights it looks instead",
                  done.stderr):
        return
    report = json.loads(done.stdout)
    awaited = {}
    for row in report["sampled"]:
        awaited[row["waits_for"]] = awaited.get(row["waits_for"], 0) + row["looks"] * (row["waits_for"] != 0)
    first = max(awaited, key=awaited.get)
    tap.ok(first == planted.tids["owner"][0], "the planted owner is who is waited for most", awaited, report)
    tap.ok(report["looks"] >= 5 and report["threads"] == 10 and report["working_ns"] > 0,
           "it says what it rests on", report)
    tap.ok(text.stdout.startswith("Sampled, not traced: ") and "owner[%d]" % first in text.stdout.split("looks  ")[0],
           "the text says that it is sampled, and whom", text.stdout)
    tap.ok(other.returncode == COULD_NOT and len(other.stderr.splitlines()) == 2, "a process of root's is refused in words",
           other.stdout, other.stderr)


def check_sampled_command(tap):
    """A command of who may not trace is begun once, looked at, and its status is ours."""
    rights = {"user": NOBODY, "group": NOBODY, "extra_groups": []}

    def why(*command):
        return subprocess.run([kernel.HOLDUP, "why", *command], capture_output=True, text=True, cwd="/", check=False, **rights)
    done = why("--json", "--", "sh", "-c", "sh -c 'sleep 1; :'; echo once; exit 7")
    tap.ok(done.returncode == 7 and done.stdout.startswith("once\n"), "sampled command: its output and status", done.stderr)
    report = json.loads(done.stdout.split("\n", 1)[1])
    tap.ok(report["sampled"] and max(row["looks"] for row in report["sampled"]) > 5, "sampled command: what it waited for", done.stdout)
    tap.ok({row["comm"] for row in report["sampled"]} >= {"sh", "sleep"}, "sampled command: its children's waits as well", done.stdout)
    tap.ok("no permission to trace" in done.stderr, "sampled command: what it rests on is told", done.stderr)
    done = why("--", "/no/such/program")
    tap.ok(done.returncode == 127 and "cannot run /no/such/program" in done.stderr, "sampled command: one that is not there", done.stderr)


def check_sampled_deadlock(tap):
    """Who waits for each other is said as that, and so is a wait that nobody is left to end."""
    rights = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    for kind, lengths, words in (("rwlock", [2], "DEADLOCK: 2 threads wait for each other: "),
                                 ("lost", [1], "DEADLOCK: 1 thread, whose wait nobody can end: ")):
        program = subprocess.Popen([os.path.join(kernel.PROGRAMS, "stuck-programs"), kind], stdout=subprocess.DEVNULL, **rights)
        argv = [kernel.HOLDUP, "why", "-d", "0.3", "-p", str(program.pid)]
        try:
            until = time.monotonic() + 20
            while asleep(program.pid) < 2 and time.monotonic() < until:
                time.sleep(0.01)
            with tempfile.TemporaryDirectory() as folder:
                os.chmod(folder, 0o755)
                done = [subprocess.run(argv + more, capture_output=True, text=True, check=False, cwd=folder, **rights)
                        for more in (["--json"], [])]
        finally:
            program.kill()
            program.wait()
        cycles = json.loads(done[0].stdout)["cycles"]
        tap.ok([len(cycle) for cycle in cycles] == lengths, kind + ", sampled: cycles", cycles)
        tap.ok(words in done[1].stdout, kind + ", sampled: text", done[1].stdout)


def main():
    kernel.need()
    tap = kernel.Tap()
    check_convoy(tap)
    check_stall(tap)
    check_deadlock(tap)
    check_names(tap)
    check_ends(tap)
    check_rwlocks(tap)
    check_sampled(tap)
    check_sampled_command(tap)
    check_sampled_deadlock(tap)
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
