#!/usr/bin/env python3
"""answers.py - the reading library answers why and locks as the commands do.

usage: answers.py VERDICT PRINT_LOCKS LOCK_TABLE   prints TAP; holdup is $HOLDUP, the traces are in
                                                   $HOLDUP_TESTS

VERDICT is examples/read-api/verdict.c: each value that it prints must be that of
"holdup why --json". What "holdup why --json" leaves out is "" or null there.
"""
import json
import os
import subprocess
import sys
import tarfile
import tempfile

TESTS = os.environ["HOLDUP_TESTS"]


def output_of(*words, env=None):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=env,
                          stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def differences(got, want, where=""):
    """Values of 'got' that are not those of 'want'; a list is as long as the other one."""
    if isinstance(got, dict):
        if not isinstance(want, dict):
            return [f"{where}: {got} is not {want}"]
        return [line for key, value in got.items()
                for line in differences(value, want.get(key), f"{where}.{key}")]
    if isinstance(got, list):
        if len(got) != len(want):
            return [f"{where}: {len(got)} rows, not {len(want)}"]
        return [line for i, value in enumerate(got)
                for line in differences(value, want[i], f"{where}[{i}]")]
    if got in ("", None) and want in ("", None):
        return []
    return [] if got == want else [f"{where}: {got!r} is not {want!r}"]


def check_why(verdict, trace, words, options):
    """Returns what is wrong, as text, and the verdict."""
    status, shown, err = output_of(verdict, trace, *words)
    if status != 0 or err:
        return f"exit {status}: {err}", {}
    want_status, want, err = output_of(os.environ["HOLDUP"], "why", "--json", *options, trace)
    if want_status != 0:
        return f"holdup why: exit {want_status}: {err}", {}
    answer = json.loads(shown)
    return "\n".join(differences(answer, json.loads(want))[:20]), answer


def lock_lines(answer):
    """What print_locks prints, from the JSON of holdup locks."""
    for lock in answer["locks"]:
        yield "|".join(["lock", lock["kind"], lock["name"] or "", lock["program"] or "",
                        str(lock["pid"]), lock["address"]] +
                       [str(lock[key]) for key in ("taken", "waits", "wait_ns", "wait_max_ns",
                                                   "hold_ns", "nobody_ns", "unknown_ns")])
        for owner in lock["owners"]:
            yield f"owner|{owner['tid']}|{owner['ns']}"
        for site in lock["sites"]:
            yield f"site|{site['name'] or ''}|{site['taken']}|{site['waits']}|{site['wait_ns']}"
    for lock in answer["kernel"]["locks"]:
        yield "|".join(["kernel", lock["name"]] +
                       [str(lock[key]) for key in ("waits", "spins", "wait_ns", "wait_max_ns",
                                                   "spin_ns")])
        for owner in lock["owners"]:
            yield (f"owner|{owner['tid']}|{owner['comm']}|{owner['in']}|"
                   f"{int(owner['from'] == 'lock')}|{owner['waits']}|{owner['ns']}")
        for caller in lock["callers"]:
            yield f"caller|{caller['call']}|{caller['function']}|{caller['waits']}|{caller['ns']}"


def check_locks(print_locks, trace, least):
    status, shown, err = output_of(print_locks, trace)
    answer = json.loads(output_of(os.environ["HOLDUP"], "locks", "--json", trace)[1])
    want = list(lock_lines(answer))
    if status != 0 or err or len(want) < least:
        return f"exit {status}: {err}; {len(want)} lines, at least {least} are expected"
    got = shown.splitlines()
    return "" if got == want else "\n".join(["printed:"] + got[:20] + ["expected:"] + want[:20])


def shipped_traces(folder):
    data = os.path.join(TESTS, "data")
    for name in sorted(os.listdir(data)):
        if name.endswith(".tar.gz"):
            with tarfile.open(os.path.join(data, name)) as archive:
                archive.extractall(folder)
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]


def known_points(folder):
    """The trace of the golden case, whose program told something at known points."""
    prepare = os.path.join(TESTS, "golden", "known-points", "prepare")
    subprocess.run(["bash", "-e", prepare], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return os.path.join(folder, "futex-convoy.holdup")


def why_results(verdict, folder):
    traces = shipped_traces(folder)
    for trace in traces:
        name = os.path.basename(trace)
        wrong, answer = check_why(verdict, trace, [], [])
        yield not wrong and answer["verdict"], f"{name}: the verdict of the command", wrong
        tid = str(answer["target"]["tid"]) if answer else "1"
        wrong, _ = check_why(verdict, trace, [tid, "process"], ["--pid", tid])
        yield not wrong, f"{name}: the verdict of its process", wrong
        hop = answer["chain"][0]["who"]["tid"] if answer and answer["chain"] else tid
        wrong, _ = check_why(verdict, trace, [str(hop)], ["--tid", str(hop)])
        yield not wrong, f"{name}: the verdict of a thread by its number", wrong
    wrong, answer = check_why(verdict, known_points(folder), [], [])
    told = [cause for cause in answer.get("verdict", []) if cause["told"]]
    yield not wrong and told, "what a program told at known points is told", wrong
    status, _, err = output_of(verdict, traces[0], "99999")
    yield status == 1 and "no such thread" in err, "a thread that is none is refused", err


def lock_results(print_locks, lock_table, folder):
    trace = os.path.join(TESTS, "golden", "kernel-locks", "trace.txt")
    wrong = check_locks(print_locks, trace, 3)
    yield not wrong, "locks of the kernel are told as holdup locks has them", wrong
    if os.environ.get("HOLDUP_SANITIZED"):  # its runtime would have to be preloaded before what --locks preloads
        return
    trace = os.path.join(folder, "locks.holdup")
    status, _, err = output_of(os.environ["HOLDUP"], "run", "--locks", "-o", trace, "--", lock_table)
    wrong = err if status else check_locks(print_locks, trace, 3)
    yield not wrong, "locks of a program are told as holdup locks has them", wrong


def main():
    verdict, print_locks, lock_table = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        traces = os.path.join(folder, "traces")
        os.mkdir(traces)
        results = list(why_results(verdict, traces))
        results += list(lock_results(print_locks, lock_table, folder))
    print(f"1..{len(results)}")
    for i, (good, name, wrong) in enumerate(results, 1):
        print(f"{'ok' if good else 'not ok'} {i} - {name}")
        for line in wrong.splitlines() if not good else []:
            print(f"# {line}")
    return not all(good for good, _, _ in results)


if __name__ == "__main__":
    sys.exit(main())
