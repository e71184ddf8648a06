#!/usr/bin/env python3
"""holdup delays and holdup top where something is missing: rights, namespaces, /proc, CPUs, tasks."""
import contextlib
import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402

SWITCH = "/proc/sys/kernel/task_delayacct"
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
TOP = ["top", "--batch", "-n", "1", "-i", "0.2"]
STORM = os.path.join(kernel.PROGRAMS, "exit-storm")


def run(before, *words):
    """holdup behind other commands."""
    return subprocess.run([*before, kernel.HOLDUP, *map(str, words)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60, check=False)


def in_mount(script):
    """Behind a shell with mounts of its own: what is mounted there is nowhere else."""
    return ["unshare", "--mount", "sh", "-c", script + ' && exec "$@"', "sh"]


def works(before):
    """Whether this machine lets us do that at all."""
    done = subprocess.run([*before, "true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False)
    return done.returncode == 0


def counted(done, pid):
    """From JSON: where the numbers are from, run time, time without a CPU."""
    report = json.loads(done.stdout)
    row = next(row for row in report["tasks"] if row["pid"] == pid)
    return report["source"], row["run_ns"], row["delays"]["cpu"]["total_ns"], row["delays"]["disk"]


def schedstat(pid):
    with open("/proc/%d/schedstat" % pid) as file:
        return tuple(int(word) for word in file.read().split()[:2])


def restricted(tap, sleeper, name, before, words):
    """/proc is what is left: its numbers are right, and the reason is told; exits cannot be heard."""
    if not works(before):
        tap.skipped(name, "not possible here")
        return
    done = run(before, "delays", "--json", sleeper)
    tap.ok(done.returncode == 0 and counted(done, sleeper) == ("proc", *schedstat(sleeper), None),
           name + ": run time and time without a CPU from /proc", done.stdout[:500], done.stderr,
           schedstat(sleeper))
    done = run(before, "delays", sleeper)
    tap.ok(done.returncode == 0 and words in done.stdout, name + ": the report says why",
           done.stdout, done.stderr)
    done = run(before, *TOP, "-p", sleeper)
    lines = done.stdout.splitlines()
    tap.ok(done.returncode == 0 and any(re.match(r".*(CAP_NET_ADMIN|rights).*ELSE%", line)
                                        for line in lines) and
           any(line.split()[:1] == [str(sleeper)] for line in lines) and
           all(len(line) <= 80 for line in lines), name + ": top does, too", done)
    done = run(before, "delays", "listen", "--", "true")
    tap.ok(done.returncode == 3 and "CAP_NET_ADMIN" in done.stderr and not done.stdout and
           kernel.clear_error(done), name + ": no listening: " + done.stderr.strip(), done)


def enable(tap):
    """Whose right to turn the accounting on is missing is told so, when it is off."""
    with open(SWITCH) as file:
        before = file.read()
    try:
        with open(SWITCH, "w") as file:
            file.write("0")
        done = run(NOBODY, "delays", "--enable")
        tap.ok(done.returncode == 3 and SWITCH in done.stderr and kernel.clear_error(done),
               "--enable without the right: " + done.stderr.strip(), done)
        done = run([], *TOP)
        tap.ok(done.returncode == 0 and "task_delayacct is off" in done.stdout,
               "top says that the accounting is off", done.stdout[:500])
        done = run([], "delays", "listen", "--", "true")
        tap.ok(done.returncode == 0 and "task_delayacct is off" in done.stderr and
               "for disk (not counted)" in done.stderr, "and so does listen", done)
    finally:
        with open(SWITCH, "w") as file:
            file.write(before)


def network(tap, sleeper):
    """In another network namespace questions are answered, but exits are told to the first one."""
    if not works(["unshare", "--net"]):
        tap.skipped("another network namespace", "not possible here")
        return
    done = run(["unshare", "--net"], "delays", "--json", sleeper)
    tap.ok(done.returncode == 0 and counted(done, sleeper)[1:3] == schedstat(sleeper),
           "another network namespace: the numbers are right", done)
    done = run(["unshare", "--net"], "delays", "listen", "--", "true")
    tap.ok(done.returncode == 3 and "network namespace" in done.stderr and
           kernel.clear_error(done), "nothing would be heard: " + done.stderr.strip(), done)


INSIDE = """
sleep 1000 & one=$!
read run wait rest </proc/$one/schedstat
echo $one $run $wait
"$0" delays --json $one
"$0" delays --json --comm sleep
"$0" delays listen -- true; echo $?
"$0" top --batch -n 1 -i 0.2 | grep -c sleep
"""


def container(tap):
    """In a pid namespace tasks have its numbers, and exits are not told."""
    space = ["unshare", "--pid", "--fork", "--mount-proc"]
    if not works(space):
        tap.skipped("a pid namespace", "not possible here")
        return
    done = subprocess.run([*space, "sh", "-c", INSIDE, kernel.HOLDUP], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    lines = done.stdout.splitlines()
    tap.ok(len(lines) == 5, "in a pid namespace", done.stdout, done.stderr)
    if len(lines) != 5:
        return
    one, ran, waited = map(int, lines[0].split())
    rows = [[(row["pid"], row["run_ns"] >= ran, row["delays"]["cpu"]["total_ns"] >= waited)
             for row in json.loads(line)["tasks"]] for line in lines[1:3]]
    tap.ok(rows == [[(one, True, True)]] * 2, "its own tasks by its own numbers", rows, lines[0])
    tap.ok(lines[3] == "3" and "namespace" in done.stderr, "exits are not told: " +
           done.stderr.strip(), lines)
    tap.ok(lines[4] == "1", "top shows those inside only", lines)


def hidden(tap, sleeper):
    """/proc that hides others, or is not there."""
    before = in_mount("mount -t proc -o hidepid=2 proc /proc") + NOBODY
    if not works(before):
        tap.skipped("hidepid", "not possible here")
        return
    for words in ([sleeper], ["--all"]):
        done = run(before, "delays", *words)
        tap.ok(done.returncode == 3 and "hidepid" in done.stderr and kernel.clear_error(done),
               "tasks of others are hidden: " + done.stderr.strip(), done)
    done = run(before, *TOP)
    tap.ok(done.returncode == 0 and "hidepid" in done.stdout and
           all(len(line) <= 80 for line in done.stdout.splitlines()), "top says so", done)
    for words in (["delays", "--all"], ["delays", "1"], TOP, ["delays", "--cgroup", "/"]):
        done = run(in_mount("umount -l /proc"), *words)
        tap.ok(done.returncode == 3 and "/proc" in done.stderr and kernel.clear_error(done),
               "no /proc: " + done.stderr.strip(), done)


def gone(tap, sleeper):
    """Tasks that end while they are listed and asked about."""
    done = run([], "delays", sleeper, 2**22 + 5)
    tap.ok(done.returncode == 0 and re.search(r"\b1\b.*do not exist", done.stdout),
           "one of two is there: the other is told", done)
    done = run([], "delays", 2**22 + 5)
    tap.ok(done.returncode == 3 and "no process" in done.stderr and kernel.clear_error(done),
           "none is: " + done.stderr.strip(), done)
    with kernel.running(STORM, "1000000"):
        for words in (["delays", "--all", "--threads", "--json"], [*TOP, "-H"]):
            bad = []
            for _ in range(8):
                done = run([], *words)
                if done.returncode != 0 or done.stderr or str(sleeper) not in done.stdout:
                    bad.append(done)
                elif "--json" in words:
                    json.loads(done.stdout)
            tap.ok(not bad, "%s beside thousands of exits each second" % words[0], *bad[:1])


def cpus(tap):
    """CPUs that this machine does not have, and lists that are none."""
    for text, words in (("0-1023", "no CPU"), ("0-65535", "no CPU"), ("0-65536", "CPU"), ("", "--cpus"),
                        ("1-0", "CPU"), ("0,,1", "CPU"), ("-1", "CPU"), ("0-", "CPU"),
                        ("0x1", "CPU"), ("99999999999999999999", "CPU")):
        done = run([], "delays", "listen", "--cpus=" + text, "--", "true")
        tap.ok(done.returncode in (2, 3) and words in done.stderr and kernel.clear_error(done, 4),
               "%r: %s" % (text, done.stderr.split("\n")[0]), done)
    few = [report_of(["taskset", "-c", "0"], "--cpus", 0) for _ in range(2)]
    tap.ok(all(report["sum"]["processes"] == 1 and not report["all_cpus"] for report in few),
           "a command on the CPU that is listened to", few)
    if os.cpu_count() > 1:
        other = report_of(["taskset", "-c", "0"], "--cpus", 1)
        tap.ok(other["sum"]["processes"] == 0 and not other["all_cpus"],
               "a command on another is not heard, and the report says where it listened", other)


def report_of(before, *words):
    done = run(before, "delays", "--json", "listen", *words, "--", "true")
    return json.loads(done.stderr.splitlines()[-1])


def first_exit(tap):
    """However short the command is: its end is heard."""
    heard = [report_of([])["sum"]["processes"] for _ in range(40)]
    tap.ok(heard == [1] * 40, "40 commands that end at once are heard", heard)


@contextlib.contextmanager
def cgroup(path):
    os.makedirs(path)
    try:
        yield path
    finally:
        for _ in range(50):
            with contextlib.suppress(OSError):
                os.rmdir(path)
                break
            time.sleep(0.05)


def second_kind():
    """Where cgroups of the second kind are mounted, where holdup looks for them."""
    with open("/proc/self/mounts") as file:
        places = [line.split()[1] for line in file if line.split()[2] == "cgroup2"]
    return next((place for place in places if place.startswith("/sys/fs/cgroup")), None)


def groups(tap):
    """A cgroup by its name, by its folder, with odd letters in it."""
    root = second_kind()
    if not root:
        tap.skipped("cgroups of the second kind", "not mounted below /sys/fs/cgroup")
        return
    name = "/holdup test %d \"\u00e9\"" % os.getpid()
    with cgroup(root + name) as path, kernel.running("sleep", "1000") as process:
        with open(path + "/cgroup.procs", "w") as file:
            file.write(str(process.pid))
        for words in (name, path, name[1:]):
            done = run([], "delays", "--json", "--cgroup", words)
            pids = done.returncode == 0 and [row["pid"] for row in json.loads(done.stdout)["tasks"]]
            tap.ok(pids == [process.pid], "cgroup " + words, done)
        done = run([], *TOP, "-c", "--cgroup", name)
        tap.ok(done.returncode == 0 and "holdup test" in done.stdout and
               str(process.pid) in done.stdout, "top by cgroup", done)
        process.kill()
        process.wait()
        done = run([], "delays", "--cgroup", name)
        tap.ok(done.returncode == 3 and kernel.clear_error(done), "an empty one: " +
               done.stderr.strip(), done)
    done = run([], "delays", "--cgroup", name)
    tap.ok(done.returncode == 3 and "no cgroup" in done.stderr, "one that is gone", done)


FIRST_KIND = """
mkdir v1 && mount -t cgroup -o none,name=holdup$$ none v1 || exit 77
mkdir v1/inside
sleep 1000 & one=$!
echo $one >v1/inside/cgroup.procs
echo $one
"$0" delays --json --cgroup "$PWD/v1/inside"
echo $one >v1/cgroup.procs
rmdir v1/inside
kill $one
umount v1
"""


def first_kind(tap):
    done = subprocess.run(["unshare", "--mount", "sh", "-c", FIRST_KIND, kernel.HOLDUP],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                          timeout=60)
    lines = done.stdout.splitlines()
    if done.returncode == 77:
        tap.skipped("cgroups of the first kind", "not possible here")
        return
    pids = len(lines) == 2 and [row["pid"] for row in json.loads(lines[1])["tasks"]]
    tap.ok(pids == [int(lines[0])], "a cgroup of the first kind, by its folder", done)


def main():
    kernel.need("setpriv", "unshare", "taskset")
    if not os.path.exists(SWITCH):
        kernel.skip("this kernel has no " + SWITCH)
    tap = kernel.Tap()
    with kernel.running("sleep", "1000") as process:
        time.sleep(0.2)
        sleeper = process.pid
        restricted(tap, sleeper, "another user", NOBODY, "CAP_NET_ADMIN")
        restricted(tap, sleeper, "a user namespace", ["unshare", "--user", "--map-root-user"],
                   "CAP_NET_ADMIN")
        restricted(tap, sleeper, "user and network namespace",
                   ["unshare", "--user", "--map-root-user", "--net"], "CAP_NET_ADMIN")
        network(tap, sleeper)
        container(tap)
        hidden(tap, sleeper)
        gone(tap, sleeper)
        cpus(tap)
        first_exit(tap)
        groups(tap)
        first_kind(tap)
        enable(tap)
    tap.end()


if __name__ == "__main__":
    with kernel.workdir():
        main()
