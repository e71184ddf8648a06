#!/usr/bin/env python3
"""What a hostile command gets from root by way of holdup under a user's sudo: nothing.

A real user calls sudo holdup; the command is the attacker. What it says of itself in its own
events, what it inherits and what it may do to holdup is held against what it has without holdup.
"""
import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import kernel  # noqa: E402
from kernel import HOLDUP  # noqa: E402
from person import person  # noqa: E402

LIAR = os.path.join(kernel.PROGRAMS, "liar")
WAIT_S = 30
MODEL = """model: jobs
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
"""


def lines_of(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def acted(done):
    """What was done, and the counts of signals."""
    lines = lines_of(done.stdout)
    actions = [line["action"] for line in lines if "action" in line]
    return actions, lines[-1].get("watch", {}).get("signals", {}) if lines else {}


def watch(user, *command, options=("--signal", "USR1")):
    return user.run(HOLDUP, "watch", "--json", "--no-why", "--max-behind", "100s", *options, "model.yaml",
                    "--", *command, sudo=True)


@contextlib.contextmanager
def sleeper(user=None):
    """A process that SIGUSR1 ends."""
    argv = user.argv("sleep", "300") if user else ["sleep", "300"]
    with kernel.running(*argv) as process:
        yield process


def pid_of_sleep(process):
    """runuser stays and waits: its child is the user's process."""
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        with open("/proc/%d/task/%d/children" % (process.pid, process.pid)) as file:
            children = file.read().split()
        if children:
            return int(children[0])
        time.sleep(0.01)
    return 0


def is_alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def signals_to_others(tap, user, other):
    """Each of them dies of SIGUSR1: that they live is that none came."""
    with sleeper() as roots, sleeper(user) as mine, sleeper(other) as theirs:
        victims = [roots.pid, pid_of_sleep(mine), pid_of_sleep(theirs)]
        done = watch(user, LIAR, "got", 4, 1, *victims, "self")
        actions, counts = acted(done)
        tap.ok(all(victims) and all(map(is_alive, victims)),
               "no process of root, of another user or outside of the command gets a signal",
               victims, actions, done.stderr)
        with open(user.home + "/got") as file:
            got = int(file.read())
        tap.ok(got == 1 and counts.get("done") == 1, "the command's own process does", got, actions, done.stderr)
        tap.ok(counts.get("refused") == 4 and sum(not action["done"] for action in actions) == 4,
               "what is refused is told and counted", counts, actions)


def signal_to_holdup(tap, user):
    """Its parent is holdup, root's."""
    done = watch(user, "sh", "-c", "exec %s got 4 $PPID" % LIAR)
    actions, counts = acted(done)
    tap.ok(counts.get("refused") == 1 and counts.get("done") == 0 and "summary" in done.stdout,
           "holdup does not signal itself", counts, actions, done.returncode, done.stderr)


def signal_to_roots_child(tap, user):
    """A program of root in the command's own tree is one that the user may not signal."""
    done = watch(user, "sh", "-c", "sudo -n sleep 6 & sleep 0.5; exec %s got 4 $(pgrep -P $! -x sleep || echo $!)" % LIAR)
    actions, counts = acted(done)
    tap.ok(counts.get("refused") == 1 and counts.get("done") == 0 and
           "may not signal" in str(actions), "root's process in the tree gets none, as the user may not", counts, actions, done.stderr)


def take_number(pid, user):
    """A process of the user that has this number; None when others were faster."""
    with open("/proc/sys/kernel/ns_last_pid", "w") as file:
        file.write(str(pid - 1))
    child = os.fork()
    if child == 0:
        os.setgid(user.gid)
        os.setuid(user.uid)
        os.execv("/bin/sleep", ["sleep", "300"])
    return child


def signal_to_a_reused_number(tap, user):
    """A number that was the command's child's, and now another process of the same user has it."""
    if not os.path.exists("/proc/sys/kernel/ns_last_pid"):
        kernel.note("this kernel cannot be told the next process id")
        return
    script = ("sleep 0.1 & echo $! >number.new; wait; mv number.new number; "
              "while [ ! -e go ]; do sleep 0.1; done; exec %s got 4 $(cat number)" % LIAR)
    argv = user.argv(HOLDUP, "watch", "--json", "--no-why", "--signal", "USR1", "model.yaml", "--", "sh", "-c",
                     script, sudo=True)
    with subprocess.Popen(argv, cwd=user.home, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, text=True) as process:
        end = time.monotonic() + WAIT_S
        while not os.path.exists(user.home + "/number") and time.monotonic() < end:
            time.sleep(0.05)
        with open(user.home + "/number") as file:
            number = int(file.read())
        taken = [take_number(number, user)]
        while taken[-1] != number and len(taken) < 20:
            taken.append(take_number(number, user))
        with open(user.home + "/go", "w"):
            pass
        out, errors = process.communicate(timeout=120)
    alive = is_alive(number)
    for pid in taken:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    lines = lines_of(out)
    counts = lines[-1]["watch"]["signals"] if lines else {}
    if taken[-1] != number:
        kernel.note("the number could not be had again")
        return
    tap.ok(alive and counts.get("refused") == 1 and counts.get("done") == 0,
           "who has a number of the tree by now gets no signal", alive, counts, errors)


def words_of_exec(tap, user):
    """--exec gets the thread as proven, or not at all, and runs as the user."""
    script = 'echo "$HOLDUP_TID|$HOLDUP_PID|$HOLDUP_SAID_TID|$(id -u)" >>told'
    done = watch(user, LIAR, "got", 4, 1, "self", options=("--exec", script))
    with contextlib.suppress(FileNotFoundError), open(user.home + "/told") as file:
        told = [line.strip().split("|") for line in file]
        lied = [words for words in told if words[2] == "1"]
        true = [words for words in told if words[2] != "1"]
        tap.ok(lied == [["", "", "1", str(user.uid)]], "a thread that is not proven is not told as one", told)
        tap.ok(len(true) == 1 and true[0][0] == true[0][1] == true[0][2], "one that is, is", told)
        return
    tap.ok(False, "--exec was run", done.stderr, done.stdout)


STATUS = """
grep -E '^(Uid|Gid|Groups|NoNewPrivs|Seccomp|Cap|SigBlk|SigIgn|SigCgt|Umask|Cpus_allowed_list|THP|Speculation)' /proc/self/status
cat /proc/self/limits /proc/self/oom_score_adj /proc/self/timerslack_ns
cat /proc/self/personality /proc/self/loginuid /proc/self/coredump_filter /proc/self/cgroup 2>/dev/null
ls /proc/self/fd
stat -c 'owner of what may be traced: %u %g' /proc/self/status
cut -d' ' -f19,40,41 /proc/self/stat
ls -l /proc/self/ns | sed 's/.* \\([a-z_]* -> .*\\)/\\1/'
env | grep -vE '^(HOLDUP|SUDO_|MAIL=|_=|PWD=|OLDPWD=|SHLVL=)' | sort
"""


def write_status(user):
    with open(user.home + "/status.sh", "w") as file:
        file.write(STATUS)
    os.chmod(user.home + "/status.sh", 0o755)


def same_rights(tap, user):
    """Under sudo as the user, with --as-root as root: all that a process can see of its rights."""
    write_status(user)
    for options, name, without in (
            ([], "the user's", user.run("sudo", "-n", "-u", user.name, "--", "sh", "status.sh")),
            (["--as-root"], "root's", user.run("sh", "status.sh", sudo=True))):
        for how in (["record", "-o", "r.holdup"], ["why"], ["watch", "model.yaml"]):
            with_us = user.run(HOLDUP, *how[:1], *options, *how[1:], "--", "sh", "-c", "sh status.sh >seen", sudo=True)
            with contextlib.suppress(FileNotFoundError), open(user.home + "/seen") as file:
                seen = file.read()
            os.unlink(user.home + "/seen")
            differ = set(seen.splitlines()) ^ set(without.stdout.splitlines())
            tap.ok(without.stdout.count("\n") > 40 and not differ,
                   "the command of %s has %s rights, no more and no less" % (how[0], name), differ, with_us.stderr)


def still_setuid(tap, user):
    """What the user may do by setuid programs they may do while recorded, too."""
    done = user.run(HOLDUP, "record", "-o", "s.holdup", "--", "sudo", "-n", "id", "-u", sudo=True)
    tap.ok(done.stdout.strip() == "0", "sudo works in the command", done.stdout, done.stderr)


def run_is_the_users(tap, user):
    """holdup run under sudo is the user from the start: the command, the folder, what is in it."""
    write_status(user)
    without = user.run("sudo", "-n", "-u", user.name, "--", "sh", "status.sh")
    for options in ([], ["--locks"]):
        done = user.run(HOLDUP, "run", *options, "-o", "run.holdup", "--", "sh", "-c", "sh status.sh >seen", sudo=True)
        with open(user.home + "/seen") as file:
            differ = set(file.read().splitlines()) ^ set(without.stdout.splitlines())
        if options:  # the library has a thread and a file in the command
            differ = [line for line in differ if line.startswith(("Uid", "Gid", "Groups", "NoNew", "Cap", "HOME", "USER", "SHELL"))]
        found = subprocess.check_output(["find", user.home + "/run.holdup", "!", "-uid", str(user.uid)], text=True)
        tap.ok(without.stdout.count("\n") > 40 and not differ and not found and done.returncode == 0,
               "run %s has the user's rights, no more and no less" % " ".join(options), differ, found, done.stderr)
    done = user.run(HOLDUP, "run", "-o", "run.holdup", "--", "sudo", "-n", "id", "-u", sudo=True)
    tap.ok(done.stdout.strip() == "0", "sudo works in a command of run", done.stdout, done.stderr)
    os.symlink("/etc", user.home + "/etc")
    done = user.run(HOLDUP, "run", "-o", "etc/run-test.holdup", "--", "true", sudo=True)
    tap.ok(done.returncode == 3 and not os.path.lexists("/etc/run-test.holdup"),
           "run makes nothing where the user may not", done.returncode, done.stderr)


ALLOWED = {
    # By name of the thread: what it may have at most, by number of the capability.
    "holdup-reader": set(), "holdup-holder": set(), "holdup-watchdog": {1}, "holdup-accounts": {12},
    # kill, chown, dac_override, dac_read_search, fowner, setgid, setuid, net_admin, sys_ptrace, lease, bpf
    "holdup": {0, 1, 2, 3, 5, 6, 7, 12, 19, 28, 39},
}


def threads_of_holdup(command_pid):
    """(name, path in /proc) of the recorder's threads and of its helpers."""
    found = []
    recorder = next(line.split()[1] for line in open("/proc/%d/status" % command_pid) if line.startswith("PPid"))
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open("/proc/%s/comm" % pid) as file:
                name = file.read().strip()
            if pid != recorder and name not in ("holdup-watchdog", "holdup-holder"):
                continue
            for tid in os.listdir("/proc/%s/task" % pid):
                with open("/proc/%s/task/%s/comm" % (pid, tid)) as file:
                    found.append((file.read().strip(), "/proc/%s/task/%s" % (pid, tid)))
    return found


def attack(pid):
    """As the user: what can be done to another process, by what name."""
    return """
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
done = []
for name, path in %r:
    pid = int(path.split("/")[2])
    for number in (signal.SIGKILL, signal.SIGSTOP, 0):
        try:
            os.kill(pid, number)
            done.append(("kill", number, name))
        except PermissionError:
            pass
    if libc.ptrace(16, pid, 0, 0) == 0:
        done.append(("ptrace", name))
    for file in ("mem", "environ", "maps", "fd", "cwd"):
        try:
            if os.listdir(path + "/" + file) if file == "fd" else open(path + "/" + file, "rb").read(1):
                done.append((file, name))
        except OSError:
            pass
open("attacked", "w").write(repr(done))
""" % (pid,)


def recorder_keeps_little(tap, user):
    """While the command runs: rights of each thread and helper; and what the user can do to them."""
    argv = user.argv(HOLDUP, "record", "-o", "k.holdup", "--", "sh", "-c", "echo $$ >pid.new; mv pid.new pid; "
                     "while [ ! -e attack.py ]; do sleep 0.1; done; python3 attack.py", sudo=True)
    with subprocess.Popen(argv, cwd=user.home, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, text=True) as process:
        end = time.monotonic() + WAIT_S
        while not os.path.exists(user.home + "/pid") and time.monotonic() < end:
            time.sleep(0.05)
        with open(user.home + "/pid") as file:
            threads = threads_of_holdup(int(file.read()))
        bad, names = [], {name for name, _ in threads}
        for name, path in threads:
            with open(path + "/status") as file:
                status = dict(line.split(":\t", 1) for line in file if ":\t" in line)
            for kind in ("CapPrm", "CapEff", "CapInh", "CapAmb", "CapBnd"):
                has = {bit for bit in range(64) if int(status[kind], 16) >> bit & 1}
                if has - (ALLOWED.get(name, ALLOWED["holdup"]) if kind in ("CapPrm", "CapEff") else set()):
                    bad.append((name, kind, has))
            if status["NoNewPrivs"].strip() != "1":
                bad.append((name, "new privileges"))
        with open(user.home + "/attack.new", "w") as file:
            file.write(attack(threads))
        os.rename(user.home + "/attack.new", user.home + "/attack.py")
        _, errors = process.communicate(timeout=120)
    tap.ok({"holdup", "holdup-reader", "holdup-watchdog"} <= names and not bad,
           "each thread and helper has given up what it does not need", bad, names)
    with open(user.home + "/attacked") as file:
        done = file.read()
    tap.ok(done == "[]" and process.returncode == 0, "and is out of the command's reach", done, errors)


def server_is_nobody(tap, user):
    """Who answers HTTP may ask the kernel for accounts, and is nobody otherwise."""
    with subprocess.Popen(user.argv(HOLDUP, "delays", "serve", "0", sudo=True), stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        where = process.stderr.readline().split()[-1]
        text = urllib.request.urlopen(where, timeout=WAIT_S).read().decode()
        time.sleep(1.2)
        text = urllib.request.urlopen(where, timeout=WAIT_S).read().decode()
        server = next((pid for pid in filter(str.isdigit, os.listdir("/proc")) if command_line(pid)[:3] ==
                       [HOLDUP, "delays", "serve"]), "0")
        with open("/proc/%s/status" % server) as file:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        os.kill(int(server), 15)
        process.wait(timeout=WAIT_S)
    tap.ok(status["Uid"].split() == ["65534"] * 4 and not status["Groups"].strip() and
           int(status["CapPrm"], 16) == int(status["CapEff"], 16) == 1 << 12 and
           int(status["CapBnd"], 16) == 0 and status["NoNewPrivs"] == "1",
           "the server is nobody, with CAP_NET_ADMIN alone", status)
    tap.ok("holdup_" in text and "# EOF" in text and process.returncode == 0, "and answers", text[:500])


def command_line(pid):
    with contextlib.suppress(OSError), open("/proc/%s/cmdline" % pid) as file:
        return file.read().split("\0")
    return []


def main():
    kernel.need("sudo", "useradd", "runuser")
    tap = kernel.Tap()
    with person(1) as user, person(2) as other:
        with open(user.home + "/model.yaml", "w") as file:
            file.write(MODEL)
        for test in (signals_to_others, signal_to_holdup, signal_to_roots_child,
                     signal_to_a_reused_number, words_of_exec, same_rights,
                     still_setuid, run_is_the_users, recorder_keeps_little, server_is_nobody):
            if len(sys.argv) > 1 and test.__name__ not in sys.argv[1:]:
                continue
            kernel.note(test.__name__)
            test(tap, user, other) if test is signals_to_others else test(tap, user)
    tap.end()


if __name__ == "__main__":
    main()
