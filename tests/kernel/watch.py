#!/usr/bin/env python3
"""holdup watch: a model while it happens. The programs know which of their jobs were bad.

Nothing here rests on how long something takes: that a violation is told while the program runs is
shown by a program that goes on only when it was told.
"""
import contextlib
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402
from kernel import HOLDUP, holdup, running  # noqa: E402

WATCHED = os.path.join(kernel.PROGRAMS, "watched")
NOBODY = 65534
LIMIT_NS = 50 * kernel.MS
NEAR_NS = 5 * kernel.MS  # between the program's own clock and its events
WAIT_S = 60
# Nothing is left out, however busy the machine is.
# A program that is attached to: however long that takes, a job that is late comes after it.
ALWAYS = ("30000", ",".join(str(job) for job in range(200, 30000, 200)), "--stay")
WATCH = ("watch", "--json", "--max-behind", "100s")

MODEL = """model: %s
key: flow
initial: waiting
states:
  waiting:
    transitions:
      - event: work:job_begin
        to: working
  working:
    transitions:
      - event: work:job_end
        to: waiting
        check:
          - deadline: 50ms
          - { name: slept, that: "blocked(time) <= 50ms" }
          - switches <= 40
          - on_cpu >= 0
          - in_syscalls >= 0
"""
# Of the kernel alone, in no program's words: each sleep of one process.
KERNEL_MODEL = """model: sleeps
initial: awake
states:
  awake:
    transitions:
      - syscall: clock_nanosleep
        filter: comm == "watched"
        to: asleep
  asleep:
    transitions:
      - syscall_exit: clock_nanosleep
        to: awake
        check:
          - deadline: 50ms
"""


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def read_json(path):
    with open(path) as file:
        return json.load(file)


def lines_of(text):
    """The objects of the output of watch --json; the program's own lines are none."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def summary_of(lines):
    return lines[-1] if lines and "summary" in lines[-1] else {"summary": {"list": []}, "watch": {}}


def violations(lines):
    return [line["violation"] for line in lines if "violation" in line]


def late_keys(lines):
    return sorted({v["key"] for v in violations(lines) if v["constraint"].startswith("elapsed")})


def bad_keys(truth, share):
    """Keys of jobs that took longer than the limit; those near it may be either."""
    far = LIMIT_NS + share * NEAR_NS
    return {str(5000 + job["job"]) for job in truth["jobs"] if job["ns"] > far}


def statuses(result):
    return [(i["key"], i["status"], i["end"], i["transitions"], i["start_ns"], i["end_ns"])
            for i in result["list"]]


def same_as_check(tap, lines, model, trace, name):
    """The offline check of what was recorded: the same instances, statuses, values."""
    done = holdup("check", "--json", model, trace)
    live, offline = summary_of(lines)["summary"], json.loads(done.stdout or "{}")
    tap.ok(live["list"] and statuses(live) == statuses(offline), name + ": instances and statuses",
           [pair for pair in zip(statuses(live), statuses(offline)) if pair[0] != pair[1]][:3],
           len(live["list"]), len(offline.get("list", [])), done.stderr)
    tap.ok(live.get("transitions") == offline.get("transitions"), name + ": counts and values",
           live.get("transitions"), offline.get("transitions"))


def told_while_it_runs(tap):
    """The program waits for the signal that only who saw its violation sends."""
    done = holdup(*WATCH, "--signal", "USR1", "-o", "a.holdup", "model.yaml", "--",
                  WATCHED, "a.json", 60, "10,30,50", "--wait")
    lines, truth = lines_of(done.stdout), read_json("a.json")
    tap.ok(done.returncode == 1, "exit status 1: something was not kept", done.returncode,
           done.stderr)
    tap.ok(truth["signals"] == 3, "each violation is acted on while the program runs",
           truth["signals"], [line for line in lines if "action" in line])
    found = set(late_keys(lines))
    tap.ok(bad_keys(truth, 1) <= found <= bad_keys(truth, -1) and
           {"5010", "5030", "5050"} <= found, "what took too long is told, and nothing else", found,
           bad_keys(truth, 0))
    slept = [v for v in violations(lines) if v["key"] == "5010" and "verdict" in v]
    tap.ok(slept and slept[0]["verdict"][0]["kind"] == "timer", "and why: it slept", slept)
    same_as_check(tap, lines, "model.yaml", "a.holdup", "check says the same afterwards")


def told_while_open(tap):
    """A job that has no end until somebody sees that it is late."""
    done = holdup(*WATCH, "--signal", "USR1", "-o", "h.holdup", "model.yaml", "--",
                  WATCHED, "h.json", 60, "10,40", "--inside")
    lines, truth = lines_of(done.stdout), read_json("h.json")
    late = [line["late"] for line in lines if "late" in line]
    tap.ok(truth["signals"] == 2 and {"5010", "5040"} <= {finding["key"] for finding in late},
           "what hangs is told while it hangs", truth["signals"], late)
    keys = [finding["key"] for finding in late]
    tap.ok(len(keys) == len(set(keys)), "once", keys)
    same_as_check(tap, lines, "model.yaml", "h.holdup", "of what was late")


def across_threads(tap):
    """An instance that ends in another thread than it began in."""
    done = holdup(*WATCH, "-o", "t.holdup", "model.yaml", "--", WATCHED, "t.json", 200, "100",
                  "--threads")
    same_as_check(tap, lines_of(done.stdout), "model.yaml", "t.holdup", "across threads")


def little_memory(tap):
    """What threads did is given up again and again: nothing changes that is not said."""
    done = holdup(*WATCH, "--memory", "64K", "-o", "m.holdup", "model.yaml", "--",
                  WATCHED, "m.json", 5000, "100,4000")
    lines = lines_of(done.stdout)
    watch = summary_of(lines)["watch"]
    tap.ok(watch.get("renewals", 0) > 0 and watch.get("uncertain_by_renewals") == 0,
           "memory was given back on the way", watch)
    same_as_check(tap, lines, "model.yaml", "m.holdup", "with little memory")
    shutil.rmtree("m.holdup")


def given_up(folder):
    """Whether the beginning is gone: of a CPU's file, of the files of a program."""
    ring, user = False, False
    for path in glob.glob(folder + "/holdup-*/trace/kernel/cpu*.ring"):
        with contextlib.suppress(OSError), open(path, "rb") as file:
            ring |= os.lseek(file.fileno(), 0, os.SEEK_DATA) > 0
    for path in glob.glob(folder + "/holdup-*/trace/user/*"):
        names = sorted(glob.glob(path + "/cpu*-*"))
        user |= bool(names) and not any(name.endswith("000001") or name.endswith("000000")
                                        for name in names)
    return ring, user


def little_disk(tap):
    """Without -o only the end is on disk; every job is seen all the same."""
    jobs, ring, user = 500_000, False, False
    os.mkdir("disk")
    with watching("--keep", "200ms", "model.yaml", "--", WATCHED, "d.json", jobs,
                  "100000", "--fast", env=dict(os.environ, TMPDIR=os.path.realpath("disk")),
                  stderr=subprocess.DEVNULL) as watch:
        lines = []
        for line in watch.stdout:
            lines.append(line)
            if '"105000"' in line:
                break
        while watch.poll() is None and not (ring and user):
            new_ring, new_user = given_up("disk")
            ring, user = ring or new_ring, user or new_user
            time.sleep(0.05)
        rest, _ = watch.communicate(timeout=WAIT_S)
    last = summary_of(lines_of("".join(lines) + rest))["summary"]
    tap.ok(ring and user, "old parts of the recording are given up while it goes on", ring, user)
    tap.ok(last.get("instances") == jobs and last["open"] == 0 and not last["unexpected"],
           "and no job is missed", last.get("instances"), last.get("open"),
           last.get("unexpected"))
    tap.ok(not os.listdir("disk"), "in the end nothing is left", os.listdir("disk"))


def too_slow(tap):
    """Who may not fall behind leaves out; nothing is wrong by that, and it is said."""
    done = holdup("watch", "--json", "--max-behind", "1ms", "-o", "s.holdup", "model.yaml", "--",
                  WATCHED, "s.json", 1500, "100,1000")
    lines, truth = lines_of(done.stdout), read_json("s.json")
    last = summary_of(lines)
    tap.ok(last["watch"].get("left_out", 0) > 0 and last["watch"]["left_out_ns"] > 0,
           "a stretch that was left out is counted", last["watch"])
    tap.ok(last["summary"].get("lost_events", 0) > 0, "and is a hole to the check")
    tap.ok(set(late_keys(lines)) <= bad_keys(truth, -1), "what is found is true", late_keys(lines))
    shutil.rmtree("s.holdup")


def stopped_at_times(process):
    """Meanwhile nobody empties the kernel's buffers."""
    end = time.monotonic() + WAIT_S
    while not os.path.exists("l.json") and time.monotonic() < end:
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.3)
        process.send_signal(signal.SIGCONT)
        time.sleep(0.5)


def lost_events(tap):
    """With events lost, nothing is certain while it happens that is not so afterwards."""
    write("losing.yaml", KERNEL_MODEL.replace("- deadline: 50ms", """- deadline: 50ms
          - switches <= 1
          - "blocked(time) <= 50ms"
          - "blocked(lock) <= 0"
"""))
    load = "dd if=/dev/zero of=/dev/null bs=1 count=400000 2>/dev/null & %s l.json 400 20,200; wait" % WATCHED
    with watching("--user-events", "none", "-b", "64K", "-o", "l.holdup", "losing.yaml", "--", "sh", "-c",
                  load) as watch:
        stopped_at_times(watch)
        out, errors = watch.communicate(timeout=WAIT_S)
    live = summary_of(lines_of(out))["summary"]
    offline = json.loads(holdup("check", "--json", "--no-why", "losing.yaml", "l.holdup").stdout)
    tap.ok(live.get("lost_events", 0) > 0, "events were lost", live.get("lost_events"), errors)
    sure = [row for row in statuses(live) if row[1] != "uncertain"]
    tap.ok(sure and set(sure) <= set(statuses(offline)), "%d of %d instances are certain, and so they are to check"
           % (len(sure), live.get("instances", 0)), [row for row in sure if row not in statuses(offline)][:5])
    kernel.note("%d uncertain while it happened, %d afterwards" % (live["uncertain"], offline["uncertain"]))
    shutil.rmtree("l.holdup")


def kernel_only(tap):
    """System calls, without a word of the program."""
    write("sleeps.yaml", KERNEL_MODEL)
    done = holdup(*WATCH, "--user-events", "none", "-o", "k.holdup", "sleeps.yaml", "--",
                  WATCHED, "k.json", 50, "20")
    lines = lines_of(done.stdout)
    tap.ok(len(violations(lines)) >= 1 and done.returncode == 1, "a model of the kernel's events",
           done.returncode, done.stderr, violations(lines))
    same_as_check(tap, lines, "sleeps.yaml", "k.holdup", "the kernel's events alone")


def actions(tap):
    """The command sees what happened, whatever the words are; the trace opens."""
    write("odd.yaml", MODEL % "'$(touch injected) \"; touch injected; #'")
    script = ('printf "%s|%s|%s|%s|%s\\n" "$HOLDUP_MODEL" "$HOLDUP_KEY" "$HOLDUP_PID" '
              '"$HOLDUP_CONSTRAINT" "$HOLDUP_VALUE" >> told')
    os.mkdir("temporary")
    done = holdup(*WATCH, "--exec", script, "--snapshot", "kept", "--keep", "2s",
                  "--max-snapshots", 1, "--snapshot-gap", "0.1", "odd.yaml", "--", WATCHED,
                  "x.json", 2000, "300,600", env=dict(os.environ, TMPDIR=os.path.realpath("temporary")))
    lines, truth = lines_of(done.stdout), read_json("x.json")
    told = [line.split("|") for line in open("told").read().splitlines()] if os.path.exists(
        "told") else []
    keys = {words[1] for words in told if len(words) == 5}
    tap.ok({"5300", "5600"} <= keys and not os.path.exists("injected"),
           "the command gets the facts, and none of them is run", told)
    tap.ok(all(int(words[2]) == truth["pid"] for words in told), "with the process", told,
           truth["pid"])
    kept = sorted(os.listdir("kept")) if os.path.isdir("kept") else []
    watch = summary_of(lines)["watch"]
    tap.ok(kept == ["000001.holdup"] and watch["snapshots"]["done"] == 1 and
           watch["snapshots"]["left_out"] >= 1, "one trace is kept, others are counted", kept,
           watch)
    if kept:
        again = holdup("check", "--json", "odd.yaml", "kept/000001.holdup")
        result = json.loads(again.stdout or "{}")
        bad = {i["key"] for i in result.get("list", []) if i["status"] == "invalid"}
        tap.ok("5300" in bad, "and has the violation in it", again.stderr, bad)
        report, why = kernel.why("--from", "work:job_begin:job == 300", "--to",
                                 "work:job_end:job == 300", "kept/000001.holdup")
        tap.ok(report is not None and not kernel.bad_sums(report), "why explains it", why.stderr)
    tap.ok(not os.listdir("temporary"), "and the recording is gone", os.listdir("temporary"))


@contextlib.contextmanager
def watching(*args, **options):
    options.setdefault("stderr", subprocess.PIPE)
    with subprocess.Popen([HOLDUP, *WATCH, *map(str, args)], stdout=subprocess.PIPE, text=True,
                          stdin=subprocess.DEVNULL, **options) as process:
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()


def running_program(tap):
    """--pid: the processes of others, while they run, until they are gone."""
    with running(WATCHED, "p.json", *ALWAYS, stdout=subprocess.PIPE) as target:
        target.stdout.readline()
        with watching("-p", target.pid, "-o", "p.holdup", "model.yaml") as watch:
            first = watch.stdout.readline()
            target.kill()
            target.wait()
            rest, errors = watch.communicate(timeout=WAIT_S)
    lines = lines_of(first + rest)
    tap.ok(first.startswith('{"violation"') and target.returncode == -signal.SIGKILL,
           "a running program: told while it lives", first, errors)
    tap.ok(watch.returncode == 1, "it ends when the program is killed", watch.returncode, errors)
    same_as_check(tap, lines, "model.yaml", "p.holdup", "of a program that was killed")


def interrupted(tap):
    """SIGTERM and SIGINT end it cleanly, with the summary, and leave no instance."""
    for sent in (signal.SIGTERM, signal.SIGINT):
        name = "i%d.holdup" % sent
        with running(WATCHED, "i.json", *ALWAYS, stdout=subprocess.PIPE) as target:
            target.stdout.readline()
            with watching("-p", target.pid, "-o", name, "model.yaml") as watch:
                first = watch.stdout.readline()
                watch.send_signal(sent)
                rest, errors = watch.communicate(timeout=WAIT_S)
        lines = lines_of(first + rest)
        tap.ok("summary" in lines[-1] and watch.returncode == 1,
               "%s: the summary comes" % sent.name, watch.returncode, errors)
        same_as_check(tap, lines, "model.yaml", name, sent.name)
        shutil.rmtree(name)
    left = [name for name in kernel.instances() if kernel.is_stale(name)]
    tap.ok(not left, "no instance stays", left)


def killed(tap):
    """What a killed watch has recorded opens, and is checked."""
    with running(WATCHED, "i.json", *ALWAYS, stdout=subprocess.PIPE) as target:
        target.stdout.readline()
        with watching("-p", target.pid, "-o", "dead.holdup", "model.yaml") as watch:
            first = watch.stdout.readline()
            watch.kill()
            watch.wait()
    key = json.loads(first)["violation"]["key"]
    done = holdup("check", "--json", "model.yaml", "dead.holdup")
    bad = {i["key"] for i in json.loads(done.stdout or '{"list":[]}')["list"]
           if i["status"] == "invalid"}
    tap.ok(key in bad, "a killed watch leaves what it has told of", key, bad, done.stderr)


def fill(path):
    """All that is left of a file system."""
    with contextlib.suppress(OSError), open(path, "wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def full_disk(tap):
    """Recording stops, checking goes on with what there is, and says so."""
    os.mkdir("small")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "none", "small"],
                      check=False).returncode:
        tap.skipped("a full disk", "cannot mount a tmpfs")
        return
    try:
        with running(WATCHED, "f.json", *ALWAYS, stdout=subprocess.PIPE) as target:
            target.stdout.readline()
            with watching("-p", target.pid, "-o", "small/f.holdup",
                          "model.yaml") as watch:
                first = watch.stdout.readline()
                fill("small/filler")
                rest, errors = watch.communicate(timeout=WAIT_S)
        lines = lines_of(first + rest)
        tap.ok(watch.returncode == 1 and "summary" in lines[-1],
               "a full disk: a summary of what was recorded", watch.returncode, errors)
        tap.ok("disk was full" in errors, "and it is said", errors)
        same_as_check(tap, lines, "model.yaml", "small/f.holdup", "of a full disk")
    finally:
        subprocess.run(["umount", "small"], check=False)


def no_rights(tap):
    done = subprocess.run([HOLDUP, "watch", "model.yaml", "--", "true"], capture_output=True,
                          text=True, user=NOBODY, group=NOBODY, extra_groups=[], check=False,
                          env={"PATH": os.environ["PATH"], "TMPDIR": "/tmp"})
    tap.ok(done.returncode == 3 and kernel.clear_error(done, 3), "no rights: clear words",
           done.returncode, done.stderr)


def wrong_models(tap):
    write("bad.yaml", MODEL.replace("to: working", "to: wroking") % "bad")
    done = holdup("watch", "bad.yaml", "--", "true")
    tap.ok(done.returncode == 2 and "bad.yaml:8:" in done.stderr, "a mistake has its place",
           done.returncode, done.stderr)
    write("late.yaml", MODEL.replace("event: work:job_end",
                                     "event: work:job_end\n        filter: jub == 1") % "late")
    done = holdup("watch", "late.yaml", "--", WATCHED, "l.json", 20, "5")
    tap.ok(done.returncode == 2 and "late.yaml:" in done.stderr,
           "a field that only shows when the program has come, too", done.returncode, done.stderr)


def main():
    kernel.need()
    tap = kernel.Tap()
    with kernel.workdir() as path:
        os.chmod(path, 0o755)
        write("model.yaml", MODEL % "jobs")
        for test in (told_while_it_runs, told_while_open, across_threads, kernel_only, actions, running_program,
                     interrupted, killed, full_disk, little_memory, little_disk, too_slow, lost_events,
                     no_rights,
                     wrong_models):
            if len(sys.argv) > 1 and test.__name__ not in sys.argv[1:]:
                continue
            kernel.note(test.__name__)
            test(tap)
    tap.end()


if __name__ == "__main__":
    main()
