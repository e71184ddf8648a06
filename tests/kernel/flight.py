#!/usr/bin/env python3
"""The flight recorder: a planted stall is explained, a kill leaves what it held, and no bound is passed.

One recorder runs at a time; where another one runs already, this test is skipped.
"""
import contextlib
import filecmp
import glob
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

NOBODY = 65534
STALL_MS, LIMIT_MS, FOUND_MS, BETWEEN_MS = 700, 200, 3000, 500
PATIENCE_S = 60
LEDGER_MS = 500 # what flight-names.c waits is longer
TRIES = 4
ENDED_S = 5
FOUND_S = 5 # by then programs that keep their own events are known
SMALL = ("--memory", "%dK" % (7168 + 1536 * os.cpu_count()))  # some 400 KiB above the least
RIGHTS = {"cap_dac_override": 1, "cap_dac_read_search": 2, "cap_sys_ptrace": 19, "cap_syslog": 34}
SCHEMA = os.path.join(kernel.ROOT, "docs", "schema")


def flight(*words, **options):
    return kernel.holdup("flight", *words, **options)


def status():
    done = flight("status", "--json")
    return json.loads(done.stdout) if done.returncode == 0 else None


def listed(folder):
    return json.loads(flight("list", "--json", "--dir", folder).stdout)["snapshots"]


def instances(pid):
    return glob.glob("%s/instances/holdup-%d-*" % (kernel.TRACEFS, pid))


def await_that(true, every_s=0.05):
    """Wait until it is so; returns what it is, or None. Whoever asks for the status makes the recorder work."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        found = true()
        if found:
            return found
        time.sleep(every_s)
    return None


def explained(folder, count):
    def rows():
        found = listed(folder)
        return found if len(found) >= count and all(row["verdict"] for row in found) else None
    return await_that(rows)


class Recorder:
    """One that runs, with its snapshots in a folder of its own; stopped at the end."""

    def __init__(self, tap, name, *options, **more):
        self.tap, self.name, self.dir = tap, name, os.path.join(os.getcwd(), name)
        self.done = flight("start", "--dir", self.dir, *options, **more)
        self.pid = (status() or {}).get("pid", 0)
        tap.ok(self.done.returncode == 0 and self.pid, name + ": it runs", self.done.stderr)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        if flight("stop").returncode == 3: # killed
            return
        self.tap.ok(not instances(self.pid), self.name + ": stopped, it leaves no instance", instances(self.pid))

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        await_that(lambda: not os.path.exists("/proc/%d" % self.pid))


def stall():
    """Twice; returns how long the first one lasted."""
    done = subprocess.run([os.path.join(kernel.PROGRAMS, "flight-stall"), str(STALL_MS), str(FOUND_MS), str(BETWEEN_MS)],
                          stdout=subprocess.PIPE, text=True, check=True)
    return int(done.stdout.split()[0])


def kernel_functions():
    with open("/proc/kallsyms") as file:
        return {line.split()[2] for line in file}


def tells_places():
    """Whether the kernel says in which function a sleeping thread is."""
    with kernel.running("sleep", "100") as sleeper:
        return await_that(lambda: open("/proc/%d/wchan" % sleeper.pid).read() not in ("", "0")) is not None


def check_schema(tap, name, report):
    try:
        import jsonschema
    except ImportError:
        tap.skipped(name + ": as its schema says", "python3-jsonschema is not here")
        return
    store = {}
    for path in glob.glob(SCHEMA + "/*.json"):
        with open(path) as file:
            store[os.path.basename(path)] = json.load(file)
    schema = store[report["report"] + ".schema.json"]
    warnings.simplefilter("ignore") # what comes after RefResolver is not in Debian 12
    validator = jsonschema.Draft202012Validator(schema, resolver=jsonschema.RefResolver("", schema, store=store))
    wrong = [error.message for error in validator.iter_errors(report)]
    tap.ok(not wrong, name + ": as its schema says", *wrong[:5])


def check_stall(tap):
    """A thread that is held up in D: who did it stands in the list."""
    trigger = "D:victim>%dms" % LIMIT_MS
    with Recorder(tap, "stall", "--on", trigger, "--pause", "1h") as recorder:
        stalled_ns = stall()
        rows = explained(recorder.dir, 1)
        if not tap.ok(rows, "stall: there is a snapshot", flight("status").stdout):
            return
        tap.ok(rows[0]["why"].startswith(trigger), "stall: the trigger is told", rows)
        tap.ok("culprit[" in rows[0]["verdict"], "stall: the planted cause is the verdict", rows)
        tid = int(re.search(r"thread (\d+)", rows[0]["why"]).group(1))
        place = re.search(r"\(victim\) in (\S+)$", rows[0]["why"])
        tap.ok(place.group(1) in kernel_functions() if place else not tells_places(), "stall: where in the kernel it slept", rows)
        report, done = kernel.why("--tid", tid, rows[0]["trace"])
        roots = [root for root in report["verdict"] if (root["who"] or {}).get("comm") == "culprit"] if report else []
        asked = max([root["ns"] for root in roots] or [0])
        tap.ok(0.99 * STALL_MS * kernel.MS <= asked <= stalled_ns, "stall: it is charged for as long as it slept",
               asked, stalled_ns, done.stderr)
        tap.ok(report and not kernel.bad_sums(report), "stall: sums are exact")
        check_again(tap, recorder)
        check_packed(tap, rows[0]["trace"])
        now = status()
        tap.ok(now["last_gap_ns"] > 0 and rows[0]["gap_ns"] == now["last_gap_ns"], "stall: the gap is told", now)
        check_schema(tap, "status", now)
        check_schema(tap, "list", json.loads(flight("list", "--json").stdout))


def check_packed(tap, trace):
    """Rings are compressed, whole, and no copy is left."""
    with open(trace + "/trace.json") as file:
        told = json.load(file)
    names = os.listdir(trace + "/kernel")
    packed = [os.path.getsize("%s/kernel/cpu%d.packed" % (trace, cpu["cpu"])) for cpu in told["cpus"]]
    tap.ok(told["version"] == 3 and not [name for name in names if name.endswith(".ring")], "packed: no ring is left", told, names)
    raw = sum(cpu["bytes"] for cpu in told["cpus"])
    kernel.note("%d bytes of rings are %d on disk" % (raw, sum(packed)))
    tap.ok(sum(packed) < raw / 2, "packed: it is less than half", raw, packed)
    done = kernel.holdup("check-trace", trace)
    tap.ok(done.returncode == 0, "packed: nothing is wrong with it", done.stdout, done.stderr)


def check_again(tap, recorder):
    """The second one was within the pause: nothing is taken, and that is told."""
    told = await_that(lambda: [one for one in status()["messages"] if one["text"].startswith("suppressed: D:victim")])
    tap.ok(told and "pause" in told[0]["text"], "stall: a second one is suppressed, and told", flight("status").stdout)
    tap.ok(status()["triggers"][0]["suppressed"] >= 1 and len(listed(recorder.dir)) == 1, "stall: and counted")


def check_shared(tap):
    """Names of the kernel's functions that did not change are on disk once, and each snapshot is whole."""
    with Recorder(tap, "shared", "--memory", "32M") as recorder:
        done = [flight("snapshot", word) for word in ("one", "two")]
        rows = explained(recorder.dir, 2)
        if not tap.ok(rows, "shared: there are two", done):
            return
        names = [row["trace"] + "/kernel/kallsyms" for row in rows]
        same = filecmp.cmp(*names, shallow=False)
        tap.ok(os.path.samefile(*names) == same, "shared: what is the same, and nothing else", names, same)
        kernel.note("%s bytes on disk" % " and ".join(str(row["bytes"]) for row in rows))
        with open(names[1], "rb") as file:
            whole = file.read()
        copy = shutil.copytree(rows[1]["trace"], "copy.holdup")
        for row in rows:
            shutil.rmtree(row["trace"])
        with open(copy + "/kernel/kallsyms", "rb") as file:
            tap.ok(file.read() == whole and whole, "shared: a copy has all of it")
        done = kernel.holdup("info", "--json", copy)
        tap.ok(done.returncode == 0 and json.loads(done.stdout), "shared: and opens elsewhere", done.returncode, done.stdout, done.stderr)


def check_rights(tap):
    """What it keeps, and who may ask."""
    with Recorder(tap, "rights", *SMALL) as recorder:
        with open("/proc/%d/status" % recorder.pid) as file:
            told = dict(line.split(":", 1) for line in file)
        allowed = sum(1 << bit for bit in RIGHTS.values())
        tap.ok(not int(told["CapEff"], 16) & ~allowed and not int(told["CapBnd"], 16) and int(told["NoNewPrivs"]) == 1,
               "rights: it keeps little", told)
        tap.ok(os.stat("/run/holdup").st_mode & 0o777 == 0o700 and os.stat(recorder.dir).st_mode & 0o777 == 0o700,
               "rights: its folders are root's alone")
        again = flight("start", "--dir", recorder.dir)
        tap.ok(again.returncode == 3 and "process %d" % recorder.pid in again.stderr, "rights: a second one is refused",
               again.stderr)
        tap.ok(status()["pid"] == recorder.pid, "rights: and the first one runs on")
        now = flight("status").stdout
        tap.ok("fewer than the 30.000 s" in now or status()["lasts_ns"] is None or
               status()["lasts_ns"] >= 30 * kernel.S, "rights: fewer seconds than asked for are told", now)
        # A program that others may not reach is opened before.
        if os.access(kernel.HOLDUP, os.X_OK):
            other = subprocess.run(["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups",
                                    kernel.HOLDUP, "flight", "status"], capture_output=True, text=True, check=False)
            tap.ok(other.returncode != 0 and not other.stdout, "rights: nobody may not ask", other.stdout)


def killed(tap):
    """A recorder's process id and what it left in the kernel. Who else records meanwhile removes that."""
    for _ in range(TRIES):
        with Recorder(tap, "killed", *SMALL) as recorder:
            await_that(lambda: status()["recorded_events"] > 1000)
            recorder.kill()
            left = instances(recorder.pid)
            if left:
                return recorder.pid, left[0]
    return recorder.pid, None


def is_off(path):
    try:
        with open(path + "/tracing_on") as file:
            return file.read().strip() == "0"
    except OSError:
        return False


def check_kill(tap):
    """What a killed one held is a snapshot of the next one; another recorder removes it."""
    for left in range(TRIES, 0, -1):
        first, path = killed(tap)
        off = path and await_that(lambda: is_off(path) or not os.path.exists(path))
        answers = flight("status").returncode
        with Recorder(tap, "killed", *SMALL) as recorder:
            if "killed" not in recorder.done.stderr and left > 1:
                continue
            tap.ok(off and answers == 3, "killed: its rings stay, and are off; nobody answers", path, answers)
            tap.ok("killed" in recorder.done.stderr and not instances(first),
                   "killed: the next start says what it found, and removes it", recorder.done.stderr)
            rows = explained(recorder.dir, 1)
            if not tap.ok(rows and "killed" in rows[0]["why"] and rows[0]["gap_ns"] == 0, "killed: it is a snapshot", rows):
                return
            span = rows[0]["window"]
            tap.ok(span["start_ns"] < span["end_ns"], "killed: of some time", span)
            report, done = kernel.why("--tid", "1", rows[0]["trace"])
            tap.ok(report and not kernel.bad_sums(report), "killed: it can be explained", done.stderr)
            recorder.kill()
            kernel.holdup("record", "-d", "0.1", "-o", "plain")
            tap.ok(not instances(recorder.pid), "killed: holdup record removes what is left, too")
            return


def check_read(tap):
    """Of one that was killed in a snapshot, what it had read is gone: that is no time of which all is known."""
    for name, cpus in (("a part", 1), ("all", os.cpu_count())):
        for left in range(TRIES, 0, -1):
            _, path = killed(tap)
            if not path or not await_that(lambda path=path: is_off(path)):
                continue
            for cpu in range(cpus):
                with contextlib.suppress(OSError), open("%s/per_cpu/cpu%d/trace_pipe_raw" % (path, cpu), "rb", buffering=0) as file:
                    os.set_blocking(file.fileno(), False)
                    while file.read(1 << 16) and cpus > 1:
                        pass
            with Recorder(tap, "killed-read-" + name.split()[-1], *SMALL) as recorder:
                rows = listed(recorder.dir)
                said = recorder.done.stderr
                if "killed" not in said and left > 1:
                    continue
                if cpus == 1:
                    done = kernel.holdup("check-trace", "--json", rows[0]["trace"]) if rows else None
                    found = json.loads(done.stdout) if done else {}
                    tap.ok(found.get("unread") == 0 and found["lost_events"] > 0 and not found["broken"],
                           "killed: of a part that was read nothing is claimed", found, said)
                else:
                    tap.ok(not rows and "its rings are empty" in said, "killed: empty rings are no snapshot", rows, said)
                break


def check_full(tap):
    """Where there is no room for what a killed one held, that stays in memory, and the next start has it."""
    os.mkdir("no-room", 0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4M,mode=0700", "none", "no-room"], check=True)
    try:
        for left in range(TRIES, 0, -1):
            _, path = killed(tap)
            done = flight("start", "--dir", os.path.join(os.getcwd(), "no-room"))
            if "killed" not in done.stderr and left > 1: # who else records has removed it
                flight("stop")
                continue
            tap.ok(done.returncode == 3 and "still in memory" in done.stderr and "rmdir %s" % path in done.stderr,
                   "killed: where the disk is full, the next start says so", done.stderr)
            with Recorder(tap, "room", *SMALL) as recorder:
                if not listed(recorder.dir) and left > 1:
                    continue
                tap.ok("killed" in recorder.done.stderr and listed(recorder.dir),
                       "killed: and leaves it for the one after that", recorder.done.stderr)
            return
    finally:
        subprocess.run(["umount", "no-room"], check=True)


def make_ahead(folder):
    """A snapshot of before the clock was set back."""
    trace = folder + "/29991231-235959-999.holdup"
    os.mkdir(trace)
    with open(trace + "/trace.json", "wb") as file:
        file.write(bytes(1 << 20))
    with open(folder + "/29991231-235959-999.flight", "w") as file:
        file.write("time 9000000000000000000\nbegin 1\nend 2\ngap 1\nwhy ahead\nverdict none\nwhole 1\n")
    return trace


def check_disk(tap):
    """The oldest ones go; what does not fit is not begun, and what cannot be written is not kept."""
    most = 20 << 20 # some 18 MiB are kept free for the next one
    with Recorder(tap, "disk", *SMALL, "--disk", "22M") as recorder:
        names, ahead = [], make_ahead(recorder.dir)
        for count in range(5):
            done = flight("snapshot", "number %d" % count)
            tap.ok(done.returncode == 0, "disk: snapshot %d" % count, done.stderr)
            names.append(done.stdout.strip())
            await_that(lambda name=names[-1]: any(row["trace"] == name and row["verdict"] for row in listed(recorder.dir)))
        rows = listed(recorder.dir)
        tap.ok(rows and rows[-1]["trace"] == names[-1] and len(rows) < 5, "disk: the newest stays, old ones go", rows)
        tap.ok(not os.path.exists(ahead), "disk: the oldest one has gone, by order and not by its name", rows)
        tap.ok(sum(row["bytes"] for row in rows) <= most, "disk: the bound holds", rows)
        kept = {os.path.basename(row["trace"]).split(".")[0] for row in rows}
        tap.ok({name.split(".")[0] for name in os.listdir(recorder.dir)} == kept, "disk: nothing else is left",
               os.listdir(recorder.dir))
    os.mkdir("full", 0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4M,mode=0700", "none", "full"], check=True)
    try:
        with Recorder(tap, "full", *SMALL) as recorder:
            done = flight("snapshot")
            tap.ok(done.returncode == 3 and "the disk has" in done.stderr, "full: that is said", done.stderr)
            tap.ok(not os.listdir(recorder.dir) and status()["failed"] == 1, "full: and nothing is left", status())
    finally:
        subprocess.run(["umount", "full"], check=True)


def check_limit(tap):
    """A disk that is full in the middle: no snapshot, no half of one."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))  # noqa: E731
    with Recorder(tap, "limit", "--memory", "16M", preexec_fn=limit) as recorder:
        done = flight("snapshot")
        tap.ok(done.returncode == 3 and done.stderr.strip(), "limit: it is said", done.stderr)
        tap.ok(not os.listdir(recorder.dir) and not listed(recorder.dir), "limit: no half is kept", os.listdir(recorder.dir))
        before = status()["recorded_events"]
        tap.ok(await_that(lambda: status()["recorded_events"] > before), "limit: it goes on recording")


def check_helpers(tap):
    """Who explained one snapshot is the recorder in the next one: nobody that could be held up."""
    with Recorder(tap, "helpers", "--memory", "16M") as recorder:
        for count in (1, 2):
            flight("snapshot")
            rows = explained(recorder.dir, count)
        trace = rows[1]["trace"]
        seen = re.findall(r"\bholdup-explain\[\d+\]", kernel.holdup("list", trace).stdout)
        targets = {one["target"]["comm"] for one in json.loads(kernel.holdup("why", "-a", "--json", trace).stdout)}
        tap.ok(seen and targets, "helpers: the second one has who explained the first one", rows)
        tap.ok("holdup-explain" not in targets, "helpers: they are the recorder's", targets)


def check_pressure(tap):
    """The kernel wakes it, where it can; how many threads can run it looks for."""
    queue = "runq>6/300ms"
    with Recorder(tap, "pressure", *SMALL, "--on", "psi:cpu>1%/2s", "--on", queue, "--pause", "1h") as recorder:
        if not os.path.exists("/proc/pressure/cpu"):
            tap.ok("is off" in recorder.done.stderr, "pressure: it is said that there is none", recorder.done.stderr)
        with kernel.running("sh", "-c", "for i in 1 2 3 4 5 6 7 8; do while :; do :; done & done; wait"):
            rows = explained(recorder.dir, 1)
            fired = await_that(lambda: all(one["fired"] for one in status()["triggers"] if one["works"]))
        tap.ok(rows and rows[0]["why"].startswith(("psi:cpu>1%/2s", queue + ": ")) and rows[0]["verdict"],
               "pressure: a snapshot, explained", rows)
        tap.ok(fired, "pressure: both fire", flight("status").stdout)


def memory_cgroup(name):
    """A cgroup of 16 MiB in which the kernel will kill, or None."""
    for root, limits in (("/sys/fs/cgroup", ("memory.max", "memory.swap.max")),
                         ("/sys/fs/cgroup/memory", ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"))):
        path = os.path.join(root, name)
        try:
            os.mkdir(path)
        except OSError:
            continue
        if not os.path.exists(os.path.join(path, limits[0])):
            os.rmdir(path)
            continue
        for limit, value in zip(limits, ("16M", "16M" if "memsw" in limits[1] else "0")):
            with contextlib.suppress(OSError), open(os.path.join(path, limit), "w") as file:
                file.write(value)
        return path
    return None


def oom_kills():
    with open("/proc/vmstat") as file:
        return int(dict(line.split() for line in file).get("oom_kill", -1))


def check_events(tap):
    """A kernel event that the filter lets through; a process that is killed for want of memory."""
    marked = shutil.copy("/bin/true", os.path.join(os.getcwd(), "marked"))
    trigger = "event:sched:sched_process_exec:filename == \"%s\"" % marked
    none = "event:no_such:event"
    with Recorder(tap, "events", *SMALL, "--on", trigger, "--on", none, "--on", "oom", "--pause", "1h") as recorder:
        tap.ok("no event no_such/event" in recorder.done.stderr, "events: one that is not there is told",
               recorder.done.stderr)
        subprocess.run(["/bin/true"], check=True)
        fired = [one["fired"] for one in status()["triggers"]]
        process = subprocess.Popen([marked])
        process.wait()
        rows = explained(recorder.dir, 1)
        tap.ok(fired[0] == 0 and rows and rows[0]["why"].startswith(trigger + ": marked-%d [" % process.pid) and
               "pid=%d" % process.pid in rows[0]["why"], "events: the kernel's line about it is told", fired, rows)
        check_oom(tap)


def check_points(tap):
    """A function of a program, and nothing else of it; no point is left behind."""
    program = shutil.copy(os.path.join(kernel.PROGRAMS, "stuck-programs"), os.path.join(os.getcwd(), "pointed"))
    trigger, none = "probe:%s:main" % program, "probe:%s:no_such_function" % program
    with Recorder(tap, "points", *SMALL, "--on", trigger, "--on", none, "--pause", "1h") as recorder:
        tap.ok("no_such_function" in recorder.done.stderr, "points: one that is not there is told", recorder.done.stderr)
        with open(kernel.TRACEFS + "/uprobe_events") as file:
            mine = [line for line in file if ":holdup_%d_" % recorder.pid in line]
        subprocess.run([os.path.join(kernel.PROGRAMS, "stuck-programs"), "no such"], check=False, capture_output=True)
        fired = status()["triggers"][0]["fired"]
        process = subprocess.Popen([program, "no such"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        process.wait()
        rows = explained(recorder.dir, 1)
        tap.ok(fired == 0 and rows and re.match(r"%s: \S+-%d \[" % (re.escape(trigger), process.pid), rows[0]["why"]),
               "points: who called it is told", fired, rows)
    with open(kernel.TRACEFS + "/uprobe_events") as file:
        left = [line for line in file if ":holdup_%d_" % recorder.pid in line]
    tap.ok(len(mine) == 1 and not left, "points: the kernel has one, and none behind", mine, left)


class Ledger:
    """A process of flight-names.c: what it waits for, and in which functions, is known."""

    def __init__(self, fifo):
        self.process = subprocess.Popen([os.path.join(kernel.PROGRAMS, "flight-names"), fifo], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        self.line()

    def line(self):
        return self.process.stdout.readline()

    def wait(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return self.line()

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def waits_of(trace, pid):
    """What the thread waited for in which call, for more than 200 ms; and in which function."""
    report, done = kernel.why("--tid", pid, "--causality", trace)
    waits = report["causality"] if report else []
    long = {(wait["in"], wait["object"]) for wait in waits
            if wait["end_ns"] - wait["start_ns"] > LEDGER_MS * kernel.MS and "fd 0 " not in wait["object"]}
    places = {place["function"] for row in report["verdict"] if row["ns"] > LEDGER_MS * kernel.MS
              for place in row.get("waited_in") or []} if report else set()
    return long, places & {"read_ledger", "take_ledger"}, done.stderr


def record_ledger(fifo):
    """The same, recorded as a whole."""
    ledger = Ledger(fifo)
    recorder = subprocess.Popen([kernel.HOLDUP, "record", "-e", "full", "--stack-min", "1ms", "-o", "whole", "-p", str(ledger.pid)],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    await_that(lambda: os.path.exists("whole/kernel/dump.jsonl"))
    time.sleep(0.5)
    ledger.wait()
    recorder.send_signal(signal.SIGINT)
    recorder.wait()
    found = waits_of("whole", ledger.pid)
    ledger.end()
    return found


def plant(before, fifo):
    """Two that wait, of which one ends, and a snapshot after that. Returns who is gone, and the trace."""
    before.wait()
    ended = Ledger(fifo)
    ended.wait()
    ended.end()
    return ended, flight("snapshot", "names").stdout.strip()


def lacks_stacks(trace):
    """Whether a trace says that some waits have none."""
    with open(os.path.join(trace, "trace.json")) as file:
        return any(missing["what"].startswith("stacks of ") for missing in json.load(file)["missing"])


def check_names(tap):
    """Descriptors, locks and functions have their names in a snapshot, as in a recording: of who lives, and lived."""
    fifo = os.path.join(os.getcwd(), "ledger.fifo")
    os.mkfifo(fifo)
    before = Ledger(fifo)
    with kernel.spinners(True), Recorder(tap, "names", "--memory", "64M") as recorder:
        if status()["events"] != "lean":
            tap.skipped("names: in a snapshot", "there is no BPF program")
            return
        time.sleep(1)
        places = {"who was there before": set(), "who is gone": set()}
        for _ in range(2 * TRIES): # on a busy machine there is no time to fetch the stacks of all: each is seen some time
            ended, trace = plant(before, fifo)
            for ledger, name in zip((before, ended), places):
                places[name] |= waits_of(trace, ledger.pid)[1]
            if all(len(functions) == 2 for functions in places.values()):
                break
        now = status()
    whole = record_ledger(fifo)
    tap.ok(("read", "fd 7 = " + fifo) in whole[0] and any("ledger_lock" in wait[1] for wait in whole[0]),
           "names: a recording has them", whole)
    for ledger, name in zip((before, ended), places):
        found = waits_of(trace, ledger.pid)
        tap.ok(found[0] >= whole[0], "names: descriptors and locks of " + name, found, whole)
        tap.ok(len(places[name]) == 2, "names: functions of " + name, places, whole)
        tap.ok(len(found[1]) == 2 or lacks_stacks(trace), "names: where one is missing, that is said", found, trace)
    tap.ok(now["memory_bytes"] <= 1.05 * (64 << 20), "names: within the memory that was asked for", now)
    before.end()


HOLDER = """
import array, os, socket, sys, threading
ours, theirs = socket.socketpair()
def fifo(name):
    os.mkfifo(name + ".fifo")
    return os.open(name + ".fifo", os.O_RDWR)
def wait(fd):
    threading.Timer(0.1, os.write, (fd, b"x")).start()
    os.read(fd, 1)
def send(fd):
    ours.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
    return int.from_bytes(theirs.recvmsg(1, socket.CMSG_SPACE(4))[1][0][2], sys.byteorder)
past, lost, passed = fifo("past"), fifo("lost"), fifo("passed")
ender = os.fork()
if not ender:
    sys.stdin.readline()
    wait(lost)
    os._exit(0)
os.dup2(os.open("stays", os.O_CREAT), 50)
os.dup2(os.open("goes", os.O_CREAT), 51)
os.dup2(os.open("closed", os.O_CREAT), 52)
print("ready", ender, flush=True)
os.waitpid(ender, 0)
wait(past)
os.close(past)
wait(send(passed))
os.dup2(os.open("comes", os.O_CREAT), 51)
os.close(52)
print(send(os.open("sent", os.O_CREAT)), flush=True)
if not os.fork():
    sys.stdin.readline()
    os._exit(0)
sys.stdin.readline()
"""


def descriptors_of(trace, pid):
    """What the state dump of a snapshot says of one process."""
    with open(os.path.join(trace, "kernel", "dump.jsonl")) as file:
        facts = [json.loads(line).get("fd") for line in file]
    return {fact["fd"]: os.path.basename(fact["name"]) for fact in facts if fact and fact["tgid"] == pid}


def fifos_read(trace, pid):
    """Those that it waited for."""
    report, _ = kernel.why("--tid", pid, "--causality", trace)
    objects = [wait["object"] for wait in report["causality"] if wait["in"] == "read"] if report else []
    return [os.path.basename(name) for name in objects if name.endswith(".fifo")]


def check_open(tap):
    """
    Full events: what was open before the recorder has its name, and what is not sure has none. What somebody
    waited for has one as well when it is closed, came by a message, or its process has ended.
    """
    holder = subprocess.Popen([sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    ender = int(holder.stdout.readline().split()[1])
    with Recorder(tap, "open", "--memory", "256M", "-e", "full"):
        holder.stdin.write("go\n")
        holder.stdin.flush()
        got = int(holder.stdout.readline())
        time.sleep(0.2)
        trace = flight("snapshot", "open").stdout.strip()
        found = descriptors_of(trace, holder.pid)
        with open(os.path.join(trace, "kernel", "names"), "rb") as file:
            names = file.read()
    if b"comes" not in names:
        tap.skipped("open: names of before", "there is no BPF program")
    else:
        tap.ok(found.get(50) == "stays", "open: what was open before has its name", found)
        tap.ok(51 not in found and 52 not in found, "open: what was another one before has none of before", found)
        tap.ok(got not in found, "open: what came by a message has none of before", got, found)
        waits = fifos_read(trace, holder.pid), fifos_read(trace, ender)
        tap.ok(waits[0] == ["past.fifo", "passed.fifo"], "open: what was waited for, and is closed or came by a message", waits)
        tap.ok(waits[1] == ["lost.fifo"], "open: what was waited for, of who has ended", waits)
    holder.communicate("go\ngo\n")


# A lock of Python's that a thread never gives back, and a child that never ends: no event tells who has what.
AWAITS_LOCK = """import threading, time
lock = threading.RLock()
def keeper():
    lock.acquire()
    print(threading.get_native_id(), flush=True)
    time.sleep(300)
threading.Thread(target=keeper, daemon=True).start()
while lock.acquire(blocking=False):
    lock.release()
    time.sleep(0.01)
lock.acquire()
"""
AWAITS_CHILD = """import os, select
pid = os.fork()
if not pid:
    os.execvp("sleep", ["sleep", "20"])
poll = select.poll()
poll.register(os.pidfd_open(pid), select.POLLIN)
print(pid, flush=True)
poll.poll()
"""


def call_of(pid):
    """The number of the system call that it sleeps in; a word where it runs."""
    with open("/proc/%d/syscall" % pid) as file:
        return file.read().split()[0]


def check_awaited(tap):
    """Who is awaited is looked at as the snapshot is taken."""
    ways = {"pidfd": (AWAITS_CHILD, "7")} # poll(), on x86-64; its name tells who that is
    if sys.implementation.name == "cpython" and (3, 11) <= sys.version_info < (3, 14):
        ways["python_rlock"] = (AWAITS_LOCK, "202") # futex()
    with Recorder(tap, "awaited", "--memory", "32M") as recorder, contextlib.ExitStack() as stack:
        processes, awaited = {}, {}
        for how, (program, call) in ways.items():
            process = stack.enter_context(kernel.running(sys.executable, "-c", program, stdout=subprocess.PIPE, text=True))
            processes[how], awaited[how] = process, int(process.stdout.readline())
            if os.uname().machine == "x86_64":
                await_that(lambda process=process, call=call: call_of(process.pid) == call)
        time.sleep(0.2)
        done = flight("snapshot", "who waits for whom")
        rows = explained(recorder.dir, 1)
        if not tap.ok(rows, "awaited: a snapshot", done.stderr):
            return
        for how, process in processes.items():
            report, done = kernel.why("--tid", process.pid, rows[0]["trace"])
            hop = report["chain"][0] if report and report["chain"] else {}
            found = hop.get("expects_inferred_data")
            tap.ok((hop.get("expects") or {}).get("tid") == awaited[how] and
                   (not found if how == "pidfd" else found and found["kind"] == "seen" and found["name"] == how),
                   "awaited: %s: who is awaited is as the recorder saw" % how, hop, done.stderr)


def memory_of(pid):
    """Bytes that the kernel tells of: rings, BPF programs and maps, our own."""
    rings = bpf = 0
    for path in instances(pid):
        with open(path + "/buffer_total_size_kb") as file:
            rings += int(file.read().split()[0]) << 10
    for path in glob.glob("/proc/%d/fdinfo/*" % pid):
        with contextlib.suppress(OSError), open(path) as file:
            bpf += sum(int(line.split()[1]) for line in file if line.startswith("memlock:"))
    with open("/proc/%d/smaps_rollup" % pid) as file:
        own = next(int(line.split()[1]) << 10 for line in file if line.startswith("Anonymous:"))
    for path in glob.glob("/proc/%d/fd/*" % pid):
        with contextlib.suppress(OSError):
            own += os.stat(path).st_blocks * 512 if os.readlink(path).startswith("/memfd:stacks") else 0
    return rings, bpf, own


def check_memory(tap):
    """No more memory is taken than is asked for, or it is said how much must be."""
    for events in ("lean", "core", "full"):
        refused = flight("start", "--dir", os.path.join(os.getcwd(), "memory"), "--memory", "900K", "-e", events)
        least = re.search(r"at least (\d+K) are needed", refused.stderr)
        if "need a BPF program" in refused.stderr:
            continue
        tap.ok(refused.returncode == 3 and least, "memory: %s in too little is refused" % events, refused.stderr)
        tiny = flight("start", "--dir", os.path.join(os.getcwd(), "memory"), "--memory", "1", "-e", events)
        most = re.search(r"at least (\d+)K are needed", tiny.stderr)
        tap.ok(tiny.returncode == 3 and least and most and int(most[1]) < 1.3 * int(least[1][:-1]),
               "memory: a byte for %s is refused with about the same least size" % events, tiny.stderr, refused.stderr)
        for size in (least[1] if least else "8M", "24M"):
            with Recorder(tap, "memory-%s-%s" % (events, size), "--memory", size, "-e", events) as recorder:
                time.sleep(1)
                flight("snapshot", "memory")
                now, (rings, bpf, own) = status(), memory_of(recorder.pid)
                most = int(size[:-1]) << (10 if size[-1] == "K" else 20)
                tap.ok(rings + bpf + own <= now["memory_bytes"] <= most, "memory: within %s" % size, rings, bpf, own, now)
                tap.ok(bpf == now["bpf_bytes"] and rings <= now["ring_bytes"] and abs(own - now["own_bytes"]) < 1 << 20,
                       "memory: as the kernel tells it", rings, bpf, own, now)


def ticks(mode, folder, *become, count=0):
    """A program that logs with libholdup all the time or so often, as soon as it logs."""
    environment = dict(os.environ, HOLDUP="%s:%s" % (mode, folder), HOLDUP_SIZE="1M")
    process = subprocess.Popen([*become, os.path.join(kernel.PROGRAMS, "user-ticks"), str(count)], env=environment, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    return process


def ticks_of(trace, pid):
    """Times of a program's ticks, ns, and what they count: what it kept of before the recording has holes, by packets."""
    rows = kernel.holdup("list", "--json", "--from", "+0ns", "-f", "clock:tick", trace).stdout.splitlines()
    rows = [row for row in map(json.loads, rows) if row["event"] == "clock:tick" and row["tid"] == pid]
    return [row["time_ns"] for row in rows], [row["fields"]["n"] for row in rows]


def check_programs(tap):
    """What programs keep of their own events is in a snapshot: of all users, and of the same time."""
    folder = os.path.join(os.getcwd(), "keep")
    os.mkdir(folder)
    os.chmod(os.getcwd(), 0o755)
    os.chown(folder, NOBODY, NOBODY)
    with Recorder(tap, "programs", *SMALL, "--on", "runq>5000/1s") as recorder:
        keeps = ticks("flight", folder, "setpriv", "--reuid=%d" % NOBODY, "--regid=%d" % NOBODY, "--clear-groups")
        streams = ticks("stream", os.path.join(os.getcwd(), "streams"))
        crashed = ticks("flight", folder, "setpriv", "--reuid=%d" % NOBODY, "--regid=%d" % NOBODY, "--clear-groups")
        try:
            time.sleep(FOUND_S)
            killed_ns = time.monotonic_ns()
            crashed.kill()
            crashed.wait()
            trace = flight("snapshot", "programs").stdout.strip()
            again = flight("snapshot", "once more").stdout.strip()
        finally:
            for process in (keeps, streams, crashed):
                process.kill()
                process.wait()
        explained(recorder.dir, 2)
        made = sorted(os.listdir(os.path.join(trace, "user")))
        tap.ok(made == sorted("user-ticks-%d" % one.pid for one in (keeps, crashed)), "programs: who keeps its last events, or did, and not who streams them", made)
        info = json.loads(kernel.holdup("info", "--json", trace).stdout)
        tap.ok(any("1 program" in one["what"] and "folders" in one["why"] for one in info["missing"]), "programs: who streams is told", info["missing"])
        times, counts = ticks_of(trace, keeps.pid)
        tap.ok(len(counts) > 100 and counts == list(range(counts[0], counts[0] + len(counts))), "programs: no event is missing between", len(counts))
        tap.ok(times and abs(info["last_ns"] - times[-1]) < kernel.S / 2, "programs: up to the snapshot", (times[-1:], info["last_ns"]))
        last, _ = ticks_of(trace, crashed.pid)
        tap.ok(last and killed_ns - kernel.S / 4 < last[-1] < times[-1], "programs: of who was killed, up to its end", last[-1:], killed_ns, times[-1:])
        later = ticks_of(again, keeps.pid)[1]
        tap.ok(later and later[-1] > counts[-1], "programs: another snapshot goes on", (later[-1:], counts[-1:]))


def check_ended_programs(tap):
    """Programs that have ended: one by itself long ago, in the time that the rings hold, and one that has crashed since."""
    folder = os.path.join(os.getcwd(), "ended")
    os.mkdir(folder)
    with Recorder(tap, "ended", "--keep", "%ds" % (2 * ENDED_S + 10), "--memory", "256M", "-e", "core"):
        good, crashed = ticks("flight", folder, count=16000), ticks("flight", folder)
        good.wait()
        good_ns = time.monotonic_ns()
        time.sleep(ENDED_S)
        crashed_ns = time.monotonic_ns()
        crashed.send_signal(signal.SIGSEGV)
        crashed.wait()
        has_long = status()["held_ns"] > (ENDED_S + 2) * kernel.S
        trace = flight("snapshot", "ended").stdout.strip()
        for name, process, ended_ns in (("by itself", good, good_ns), ("crashed", crashed, crashed_ns)):
            if process == good and not has_long:
                tap.skipped("ended: " + name, "the rings hold too little")
                continue
            times, counts = ticks_of(trace, process.pid)
            tap.ok(times and abs(times[-1] - ended_ns) < kernel.S / 4 and counts == list(range(counts[0], counts[0] + len(counts))),
                   "ended: %s, %.0f s before" % (name, (time.monotonic_ns() - ended_ns) / kernel.S), len(times), times[-1:], ended_ns)


def write_sleeps(path):
    """Sleeps of one name of a thread must be short, by the kernel's events."""
    with open(path, "w") as file:
        file.write("""model: sleeps
initial: awake
states:
  awake:
    transitions:
      - { syscall: clock_nanosleep, filter: 'comm == "sleep"', to: asleep }
  asleep:
    transitions:
      - syscall_exit: clock_nanosleep
        to: awake
        check:
          - deadline: 200ms
""")
    return os.path.abspath(path)


def watchers(pid):
    """Processes that a process has begun, and these, as [(pid, command line)]."""
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        children = [int(word) for word in file.read().split()]
    found = []
    for child in children:
        with contextlib.suppress(OSError), open("/proc/%d/cmdline" % child) as file:
            found += [(child, file.read())] + watchers(child)
    return found


def sleep_until(true):
    """A sleep that is too long, again and again: the watcher needs its time to begin."""
    return await_that(lambda: subprocess.run(["sleep", "0.3"], check=True) and true())


def check_model(tap):
    """A model is violated: by a watcher of the recorder's, and by one that asks it."""
    model = write_sleeps("sleeps.yaml")
    with open("wrong.yaml", "w") as file:
        file.write("model: wrong\ninitial: nowhere\n")
    for wrong in (os.path.abspath("wrong.yaml"), os.path.abspath("none.yaml")):
        done = flight("start", "--dir", os.path.abspath("wrong"), "--on", "model:" + wrong)
        tap.ok(done.returncode in (2, 3) and wrong in done.stderr, "model: a mistake is refused", done.stderr)
    done = kernel.holdup("watch", "--flight", "--snapshot-gap", "0.1", model, "--", "sh", "-c", "for i in 1 2 3 4 5 6; do sleep 0.3; done")
    tap.ok(done.stderr.count("no flight recorder runs") == 1, "model: without a recorder it is told once", done.stderr)
    with Recorder(tap, "model", "--memory", "32M", "--on", "model:" + model, "--pause", "1s") as recorder:
        fired = sleep_until(lambda: status()["triggers"][0]["fired"])
        rows = explained(recorder.dir, 1)
        tap.ok(fired and rows and re.search(r"model sleeps.yaml: key=\d+: elapsed <= 200ms broken, thread \d+$", rows[0]["why"]),
               "model: a snapshot says the violation", rows, flight("status").stdout)
        watcher = [pid for pid, line in watchers(recorder.pid) if line.startswith("holdup\0watch")]
        tap.ok(watcher, "model: the watcher is a child's child", watchers(recorder.pid))
        if watcher:
            os.kill(watcher[0], signal.SIGKILL)
        tap.ok(await_that(lambda: any("ended by signal 9" in m["text"] for m in status()["messages"])), "model: its end is told", status())
        before = status()["triggers"][0]["fired"]
        tap.ok(sleep_until(lambda: status()["triggers"][0]["fired"] > before), "model: it is started again", flight("status").stdout)
        kernel.holdup("watch", "--flight", model, "--", "sh", "-c", "sleep 0.3; sleep 2")
        tap.ok(any(row["why"].startswith("model sleeps.yaml: ") for row in listed(recorder.dir)), "model: another watch asks", listed(recorder.dir))
        left = [pid for pid, _ in watchers(recorder.pid)]
    tap.ok(await_that(lambda: not any(os.path.exists("/proc/%d" % pid) for pid in left)), "model: all ends with the recorder", left)


def check_oom(tap):
    cgroup = memory_cgroup("holdup-flight-%d" % os.getpid())
    before = oom_kills()
    if not cgroup or before < 0:
        tap.skipped("events: out of memory", "no cgroup with a limit of memory, or no count")
        return
    try:
        subprocess.run(["sh", "-c", "echo $$ >%s/cgroup.procs; exec %s -c 'b\"x\" * (64 << 20)'" % (cgroup, sys.executable)],
                       check=False)
        killed_by_kernel = oom_kills() > before
        if not killed_by_kernel:
            tap.skipped("events: out of memory", "the kernel killed nobody")
            return
        fired = await_that(lambda: status()["triggers"][2]["fired"])
        tap.ok(fired, "events: a process killed for want of memory", flight("status").stdout)
    finally:
        os.rmdir(cgroup)


def main():
    kernel.need("setpriv")
    if flight("status").returncode == 0:
        kernel.skip("a flight recorder runs already")
    tap = kernel.Tap()
    with kernel.workdir("/var/tmp"):
        try:
            for check in (check_stall, check_shared, check_rights, check_kill, check_read, check_full, check_disk, check_limit, check_helpers, check_pressure,
                          check_names, check_open, check_awaited, check_memory, check_events, check_points, check_model, check_programs, check_ended_programs):
                check(tap)
        finally:
            flight("stop")
    tap.end()


if __name__ == "__main__":
    main()
