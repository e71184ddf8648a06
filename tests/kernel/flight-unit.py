#!/usr/bin/env python3
"""Units of systemd that fail, as a trigger of the flight recorder: told by a systemd that is played here, and by a real one.

One recorder runs at a time; where another one runs already, this test is skipped.
"""
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib"))
import bus  # noqa: E402
import kernel  # noqa: E402

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import flight  # noqa: E402

NAME = "org.freedesktop.systemd1"
MANAGER = "/org/freedesktop/systemd1"
PROPERTIES = "org.freedesktop.DBus.Properties"
SERVICE, UNIT = NAME + ".Service", NAME + ".Unit"
FLOOD = 20000
REAL = "/lib/systemd/systemd"


def unit_path(name):
    return MANAGER + "/unit/" + re.sub(r"[^A-Za-z0-9]", lambda found: "_%02x" % ord(found.group()), name)


def service_values(result, main=(0, 0, 0)):
    return {"Type": ("s", "simple"), "Result": ("s", result), "ExecMainPID": ("u", main[0]), "ExecMainStartTimestamp": ("t", 1),
            "ExecMainStartTimestampMonotonic": ("t", main[1]), "ExecMainExitTimestampMonotonic": ("t", main[2])}


def unit_values(active, sub, run):
    return {"ActiveState": ("s", active), "SubState": ("s", sub), "Job": ("(uo)", (0, "/")), "InvocationID": ("ay", bytes([run] * 16))}


class Systemd(bus.Client):
    """What systemd says on the bus: PropertiesChanged first of the type, then of the unit, as its source says."""

    def __init__(self, path, units=None):
        self.units, self.subscribers, self.silent, self.absent, self.lists = units or {}, set(), False, set(), 0
        self.groups = {}
        super().__init__(path)
        self.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName", "su", (NAME, 4))

    def answer(self, sender, path, member, values):
        if member == "Subscribe":
            self.subscribers.add(sender)
            return "", ()
        if member == "ListUnitsByPatterns":
            self.lists += 1
            return "a(ssssssouso)", ([(name, "", "loaded", active, sub, "", unit_path(name), 0, "", "/")
                                      for name, (active, sub, _, _) in list(self.units.items()) if {active, sub} & set(values[0])],)
        if member == "LoadUnit":
            return "o", (unit_path({"alias.service": "web@1.service"}.get(values[0], values[0])),)
        if member == "Get" and values[1] == "ControlGroup":
            return "v", (("s", self.groups.get(path, "")),)
        if member == "Get":
            return "v", (("s", "not-found" if path in {unit_path(name) for name in self.absent} else "loaded"),)
        if member == "GetAll" and not self.silent:
            results = {unit_path(name): result for name, (_, _, result, _) in list(self.units.items())}
            return "a{sv}", (service_values(results.get(path, "success")),)
        return None

    def set(self, name, active, sub, result="success", run=1, main=(0, 0, 0), whole=True):
        self.units[name] = (active, sub, result, run)
        if whole:
            self.signal(unit_path(name), PROPERTIES, "PropertiesChanged", "sa{sv}as", (SERVICE, service_values(result, main), []))
        self.signal(unit_path(name), PROPERTIES, "PropertiesChanged", "sa{sv}as", (UNIT, unit_values(active, sub, run), []))

    def fail(self, name, result="exit-code", **more):
        self.set(name, "failed", "failed", result, **more)


@contextlib.contextmanager
def private_bus():
    folder = tempfile.mkdtemp(prefix="holdup-bus-", dir="/var/tmp")
    os.chmod(folder, 0o755) # who listens is nobody
    one = bus.Bus(folder)
    before = os.environ.get("DBUS_SYSTEM_BUS_ADDRESS")
    os.environ["DBUS_SYSTEM_BUS_ADDRESS"] = one.address
    try:
        yield one
    finally:
        one.stop()
        shutil.rmtree(folder)
        os.environ.pop("DBUS_SYSTEM_BUS_ADDRESS")
        if before:
            os.environ["DBUS_SYSTEM_BUS_ADDRESS"] = before


def fired():
    return [one["fired"] for one in flight.status()["triggers"]]


def await_fired(tap, want, name):
    flight.await_that(lambda: fired() == want)
    return tap.ok(fired() == want, name, fired(), want, flight.flight("status").stdout)


def await_why(tap, recorder, want, name):
    """A snapshot says it."""
    found = flight.await_that(lambda: [row for row in flight.listed(recorder.dir) if row["why"] == want])
    tap.ok(found, name, flight.flight("list", "--dir", recorder.dir).stdout, flight.flight("status").stdout)


def said(text):
    return flight.await_that(lambda: [one for one in flight.status()["messages"] if text in one["text"]])


def child_of(pid):
    """Who listens: a child of its keeper, which is one of the recorder."""
    for child, _ in flight.watchers(pid):
        with contextlib.suppress(OSError), open("/proc/%d/status" % child) as file:
            told = dict(line.split(":", 1) for line in file if ":" in line)
            if told["Name"].strip() == "holdup-unit":
                return child, told
    return None, {}


def has_ended(pid):
    """It is gone, or nobody has waited for it."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rpartition(") ")[2][0] == "Z"
    except OSError:
        return True


def check_refused(tap, one):
    """Where nobody can tell of units it does not start, and says why."""
    def refused(word, why, **env):
        done = flight.flight("start", "--dir", os.path.abspath("refused"), *flight.SMALL, "--on", "unit:" + word, env=dict(os.environ, **env))
        tap.ok(done.returncode == 3 and why in done.stderr, "refused: " + why, done.returncode, done.stderr)
    refused("nginx", "systemd is not on the system bus")
    refused("nginx", "there is no system bus (D-Bus)", DBUS_SYSTEM_BUS_ADDRESS="unix:path=/nonexistent/bus")
    made = os.path.abspath("made")
    for address in ("unixexec:path=/bin/touch,argv1=" + made, one.address + ";unixexec:path=/bin/touch,argv1=" + made, "tcp:host=127.0.0.1,port=1"):
        refused("nginx", "must begin with unix:", DBUS_SYSTEM_BUS_ADDRESS=address)
    tap.ok(not os.path.exists(made), "refused: no program of an address is run")
    tap.ok(flight.status() is None, "refused: nothing runs")


def check_child(tap, recorder):
    """Who reads what anybody sends has nothing that could be taken."""
    pid, told = child_of(recorder.pid)
    tap.ok(pid and set(told["Uid"].split()) == {str(flight.NOBODY)} and not int(told["CapPrm"], 16) and not int(told["CapBnd"], 16),
           "child: it is nobody, without rights", told)
    links = {os.readlink("/proc/%d/fd/%s" % (pid, fd)).split(":")[0] for fd in os.listdir("/proc/%d/fd" % pid) if fd not in "012"}
    tap.ok(links <= {"socket", "pipe"}, "child: it has sockets alone, and the pipe whose end is its own", links)
    return pid


def check_verdict(tap, recorder, systemd):
    """The main process is what is explained, although it has ended."""
    begun = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    main = subprocess.Popen(["sleep", "0.7"])
    systemd.set("web@1.service", "active", "running", main=(main.pid, begun, 0))
    main.wait()
    ended = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    systemd.fail("web@1.service", "timeout", main=(main.pid, begun, ended))
    await_fired(tap, [1, 0, 0], "failed: the trigger fires")
    rows = flight.explained(recorder.dir, 1)
    tap.ok(rows and rows[0]["why"] == "unit web@1.service failed: timeout", "failed: a snapshot, and what failed how", rows)
    tap.ok(rows and rows[0]["verdict"].startswith("sleep (%d): " % main.pid), "failed: the main process is explained", rows)


def check_group(tap):
    """A process that does not end is explained, as the unit's main one has ended at once."""
    with own_cgroups() as cgroups, private_bus() as one:
        if not cgroups:
            tap.skipped("group: others of a unit", "no cgroups are mounted")
            return
        systemd = Systemd(one.path)
        path = "/%s/web@1.service" % os.path.basename(cgroups[0])
        systemd.groups[unit_path("web@1.service")] = path
        folder = os.path.dirname(cgroups[0]) + path
        os.mkdir(folder)
        with flight.Recorder(tap, "group", "--memory", "32M", "--on", "unit:web@*") as recorder:
            begun = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
            join = ["sh", "-c", "echo $$ >%s/cgroup.procs; exec \"$@\"" % folder, "sh"]
            main, other = subprocess.Popen([*join, "sh", "-c", "exit 3"]), subprocess.Popen([*join, "sleep", "1.2"])
            systemd.set("web@1.service", "active", "running", main=(main.pid, begun, 0))
            main.wait()
            ended = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
            time.sleep(0.2)
            systemd.set("web@1.service", "deactivating", "stop-sigterm", "exit-code", main=(main.pid, begun, ended))
            other.wait()
            systemd.set("web@1.service", "deactivating", "final-sigkill", "exit-code", main=(main.pid, begun, ended))
            systemd.fail("web@1.service", "exit-code", main=(main.pid, begun, ended))
            rows = flight.explained(recorder.dir, 1)
            tap.ok(rows and rows[0]["why"] == "unit web@1.service failed: exit-code; 1 other process of the unit had not ended yet",
                   "group: who did not end is counted", rows)
            tap.ok(rows and rows[0]["verdict"].startswith("sleep (%d): " % other.pid), "group: it is explained", rows)
        systemd.close()


def check_once(tap, recorder, systemd):
    """A failure fires once, and a clean end does not."""
    for active, sub, result in (("failed", "failed", "timeout"), ("activating", "auto-restart", "timeout")):
        systemd.set("web@1.service", active, sub, result)
    systemd.set("web@2.service", "activating", "auto-restart", "success")
    systemd.set("web@2.service", "inactive", "dead", "success")
    systemd.fail("other.service")
    systemd.fail("web@1.servic", "timeout")
    systemd.fail("web@3.service", "signal")
    systemd.fail("other.mount")
    await_fired(tap, [2, 1, 0], "once: of many signals, those of another unit")
    systemd.set("web@1.service", "active", "running", run=2)
    systemd.set("web@1.service", "activating", "auto-restart", "core-dump", run=2)
    await_fired(tap, [3, 1, 0], "once: and that of another run")
    await_why(tap, recorder, "unit web@1.service failed: core-dump; systemd starts it again", "once: it is said that it is started again")
    systemd.set("web@1.service", "activating", "auto-restart", "watchdog", run=3)
    await_fired(tap, [4, 1, 0], "once: a run that nobody saw")
    systemd.fail("web@1.service", "start-limit-hit", run=3)
    await_fired(tap, [5, 1, 0], "once: and that it is given up")


def check_result(tap, recorder, systemd):
    """Where the result does not come along, it is asked for, not for long."""
    systemd.fail("web@4.service", "oom-kill", whole=False)
    await_why(tap, recorder, "unit web@4.service failed: oom-kill", "result: it is asked for")
    systemd.silent = True
    systemd.fail("web@5.service", "oom-kill", whole=False)
    await_why(tap, recorder, "unit web@5.service failed: systemd does not say how", "result: nobody answers, and that is said")
    systemd.silent = False


def attack(other, to):
    """What systemd would send, and worse, by somebody else."""
    failed = unit_values("failed", "failed", 9)
    other.signal(unit_path("web@6.service"), PROPERTIES, "PropertiesChanged", "sa{sv}as", (SERVICE, service_values("timeout"), []), to=to)
    other.signal(unit_path("web@6.service"), PROPERTIES, "PropertiesChanged", "sa{sv}as", (UNIT, failed, []), to=to)
    other.signal("/org/freedesktop/DBus", "org.freedesktop.DBus", "NameOwnerChanged", "sss", (NAME, "", other.name), to=to)
    other.signal(MANAGER, NAME + ".Manager", "Reloading", "b", (0,), to=to)
    other.signal(MANAGER + "/unit/" + "a" * 100000, PROPERTIES, "PropertiesChanged", "sa{sv}as", (UNIT, failed, []), to=to)
    other.signal(unit_path("web@6.service"), PROPERTIES, "PropertiesChanged", "sa{sv}as",
                 (UNIT, dict(failed, Big=("s", "x" * (1 << 20))), []), to=to)
    with contextlib.suppress(OSError): # calls are not let through
        other.call(to or NAME, "/", PROPERTIES, "GetAll", "s", (UNIT,), timeout=2)


def check_hostile(tap, recorder, one, systemd):
    """Others on the bus say the same, and nobody believes them."""
    other = bus.Client(one.path)
    to = next(iter(systemd.subscribers))
    lists = systemd.lists
    attack(other, None)
    attack(other, to)
    for _ in range(FLOOD):
        other.signal(unit_path("web@6.service"), PROPERTIES, "PropertiesChanged", "sa{sv}as", (UNIT, {}, []), to=to)
    # systemd itself, not as it is: other types, damaged names
    path = unit_path("web@7.service")
    for values in ({"ActiveState": ("u", 7)}, {"ActiveState": ("s", "failed"), "InvocationID": ("as", ["a"])},
                   {"ActiveState": ("s", "f" * 5000)}, {"ActiveState": ("v", ("s", "failed"))}):
        systemd.signal(path, PROPERTIES, "PropertiesChanged", "sa{sv}as", (UNIT, values, []))
    systemd.signal(path, PROPERTIES, "PropertiesChanged", "su", (UNIT, 7))
    systemd.signal(path, PROPERTIES, "PropertiesChanged")
    systemd.fail("web@" + "8" * 300 + ".service")
    systemd.fail("web@\x1b[31m.service")
    systemd.fail("web@9.service", "result\x1b[31m" + "y" * 40)
    await_fired(tap, [8, 1, 0], "hostile: only systemd is believed, as far as it can be")
    rows = [row for row in flight.listed(recorder.dir) if "web@9" in row["why"]]
    told = flight.flight("list", "--dir", recorder.dir).stdout
    tap.ok(rows and "\x1b" not in told and "\\x1b" in told, "hostile: words are escaped", rows, told)
    tap.ok(systemd.lists == lists and child_of(recorder.pid)[0], "hostile: nobody else has systemd asked; it listens on", systemd.lists, lists)
    other.close()


def check_left(tap, recorder, one, systemd):
    """systemd leaves the bus and comes back, as when it executes itself anew; what failed meanwhile is found."""
    old = systemd.units
    systemd.close()
    tap.ok(said("systemd has left the system bus") and not flight.status()["triggers"][0]["works"], "left: it is told", flight.status())
    systemd = Systemd(one.path, dict(old, **{"web@10.service": ("failed", "failed", "protocol", 1), "web@3.service": ("active", "running", "success", 2)}))
    await_why(tap, recorder, "unit web@10.service failed: protocol", "left: what failed meanwhile fires")
    await_fired(tap, [9, 1, 0], "left: what had failed before does not")
    tap.ok(said("systemd is heard again") and flight.status()["triggers"][0]["works"], "left: it is back", flight.status())
    systemd.fail("web@3.service", "signal", run=2)
    await_fired(tap, [10, 1, 0], "left: what had become good may fail again")
    systemd.units["web@11.service"] = ("failed", "failed", "resources", 1)
    systemd.signal(MANAGER, NAME + ".Manager", "Reloading", "b", (1,))
    systemd.signal(MANAGER, NAME + ".Manager", "Reloading", "b", (0,))
    await_fired(tap, [11, 1, 0], "reloaded: what nobody told is found")
    return systemd


def check_lost(tap, recorder, one, systemd):
    """The bus itself ends and comes back."""
    one.stop()
    tap.ok(said("the system bus is lost") and not flight.status()["triggers"][0]["works"], "lost: it is told", flight.status())
    tap.ok(flight.flight("snapshot", "meanwhile").returncode == 0, "lost: the recorder goes on")
    one.start()
    systemd = Systemd(one.path, dict(systemd.units, **{"web@12.service": ("failed", "failed", "exec-condition", 1)}))
    await_fired(tap, [12, 1, 0], "lost: what failed meanwhile fires")
    tap.ok(flight.status()["triggers"][0]["works"], "lost: it is back", flight.status())
    check_again(tap, recorder, systemd)
    systemd.close()


def check_again(tap, recorder, systemd):
    """Who listens is killed, again and again: it is started again, later each time, and what fails then fires."""
    begin = time.monotonic()
    for count, pause in enumerate((1, 2)):
        pid, _ = flight.await_that(lambda: child_of(recorder.pid) if child_of(recorder.pid)[0] else None)
        os.kill(pid, 9)
        told = said("who listens to systemd was ended by signal 9: failures of units are not seen; the next one in %d s" % pause)
        tap.ok(told and not any(one["works"] for one in flight.status()["triggers"]), "again: its end is told, and that nothing is heard", flight.status())
        off = flight.flight("list", "--dir", recorder.dir).stderr
        tap.ok("this trigger is off, see holdup flight status: unit:web@*" in off or count, "again: also with the list", off)
        tap.ok(flight.await_that(lambda: all(one["works"] for one in flight.status()["triggers"])), "again: it hears again", flight.status())
    tap.ok(time.monotonic() - begin >= 3, "again: not at once", time.monotonic() - begin)
    systemd.fail("web@13.service", "signal")
    await_fired(tap, [13, 1, 0], "again: what fails then fires")


def check_played(tap):
    with private_bus() as one:
        check_refused(tap, one)
        systemd = Systemd(one.path, {"web@0.service": ("failed", "failed", "signal", 1)})
        systemd.absent.add("nothere.service")
        triggers = ("--on", "unit:web@*", "--on", "unit:o*.mount", "--on", "unit:nothere")
        with flight.Recorder(tap, "unit", "--memory", "32M", "--pause", "1ms", *triggers) as recorder:
            tap.ok("no unit nothere.service" in recorder.done.stderr, "begin: a name that nobody has is told", recorder.done.stderr)
            tap.ok(fired() == [0, 0, 0] and all(one["works"] for one in flight.status()["triggers"]), "begin: what had failed before fires nothing")
            flight.check_schema(tap, "status", flight.status())
            check_child(tap, recorder)
            check_verdict(tap, recorder, systemd)
            check_once(tap, recorder, systemd)
            check_result(tap, recorder, systemd)
            check_hostile(tap, recorder, one, systemd)
            systemd = check_left(tap, recorder, one, systemd)
            check_lost(tap, recorder, one, systemd)
    with private_bus() as one:
        systemd = Systemd(one.path)
        with flight.Recorder(tap, "killed", *flight.SMALL, "--on", "unit") as recorder:
            pid, _ = child_of(recorder.pid)
            recorder.kill()
            tap.ok(flight.await_that(lambda: has_ended(pid)), "killed: who listens ends with the recorder", pid)
        with flight.Recorder(tap, "alias", *flight.SMALL, "--on", "unit:alias") as recorder:
            systemd.fail("web@1.service", "signal")
            await_fired(tap, [1], "alias: a unit's other name means that unit")
            pid, _ = child_of(recorder.pid)
        tap.ok(flight.await_that(lambda: child_of(recorder.pid)[0] is None and has_ended(pid)), "alias: who listens ends with the recorder", pid)


# A systemd of root as a user, on a machine that another one may have booted: in its own /run, with the bus of the test,
# and in a cgroup of its own, as it takes over all processes of the one that it begins in.
AS_USER = """
set -e
for cgroup in $CGROUPS; do echo $$ >$cgroup/cgroup.procs; done
mount -t tmpfs none /run
mkdir -p -m 755 /run/systemd/system /run/user /run/user/0 /run/conf/systemd/user/dbus.service.d
export XDG_RUNTIME_DIR=/run/user/0 XDG_CONFIG_HOME=/run/conf
sed 's/<type>system/<type>session/; s,unix:path=[^<]*,unix:path=/run/user/0/bus,' "$2" >/run/conf/bus.conf
printf '[Service]\\nExecStart=\\nExecStart=%s --config-file=/run/conf/bus.conf --address=systemd: --nofork --nopidfile\\n' \\
    "$(command -v dbus-daemon)" >/run/conf/systemd/user/dbus.service.d/test.conf
"$1" --user >/run/log 2>&1 &
tries=0
until systemctl --user start dbus.service 2>/dev/null || [ $tries = 50 ]; do tries=$((tries + 1)); sleep 0.1; done
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=/run/user/0/bus
start() { "$HOLDUP" flight start --dir "$PWD/real" --memory 32M --pause 1ms --on 'unit:holdup-test*'; }
start || { sleep 1; start; }
systemd-run -q --user --unit=holdup-test-code sh -c 'sleep 0.3; exit 3'
systemd-run -q --user --unit=holdup-test-good sleep 0.3
systemd-run -q --user --unit=holdup-test-other true
systemd-run -q --user --collect --unit=holdup-test-late -p RuntimeMaxSec=500ms sleep 100
sleep 3
systemctl --user daemon-reexec
sleep 2
systemd-run -q --user --unit=holdup-test-killed sh -c 'sleep 0.2; kill -9 $$$$' # systemd takes two for one
sleep 3
"$HOLDUP" flight list --json --dir "$PWD/real"
"$HOLDUP" flight stop
"""


@contextlib.contextmanager
def own_cgroups():
    """One in each hierarchy that systemd uses; all that is in them is ended."""
    roots = ["/sys/fs/cgroup" + more for more in ("", "/unified", "/systemd")]
    paths = ["%s/holdup-unit-%d" % (root, os.getpid()) for root in roots if os.path.exists(root + "/cgroup.procs")]
    for path in paths:
        os.mkdir(path)
    try:
        yield paths
    finally:
        for path in paths:
            flight.await_that(lambda path=path: not kill_all(path))
            for folder, _, _ in os.walk(path, topdown=False):
                os.rmdir(folder)


def kill_all(cgroup):
    """How many were there."""
    pids = []
    for folder, _, _ in os.walk(cgroup):
        with open(folder + "/cgroup.procs") as file:
            pids += [int(line) for line in file]
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 9)
    return len(pids)


def check_real(tap):
    """The systemd of this machine says what the played one does."""
    if not os.access(REAL, os.X_OK) or not shutil.which("systemd-run"):
        tap.skipped("real: systemd", "it is not here")
        return
    with open("system.conf", "w") as file:
        file.write(bus.CONFIG % "x")
    with own_cgroups() as cgroups:
        if not cgroups:
            tap.skipped("real: systemd", "no cgroups are mounted")
            return
        done = subprocess.run(["unshare", "-m", "sh", "-c", AS_USER, "sh", REAL, os.path.abspath("system.conf")], capture_output=True, text=True,
                              check=False, env=dict(os.environ, HOLDUP=kernel.HOLDUP, CGROUPS=" ".join(cgroups)), timeout=120)
    rows = flight.listed(os.path.abspath("real"))
    why = sorted(row["why"] for row in rows)
    if not rows and "failed: " not in done.stdout:
        tap.skipped("real: systemd", "it does not run here: " + " ".join(done.stderr.split()))
        return
    tap.ok(why == ["unit holdup-test-code.service failed: exit-code", "unit holdup-test-killed.service failed: signal",
                   "unit holdup-test-late.service failed: timeout"], "real: what failed, and how", why, done.stdout, done.stderr)
    first = [row["verdict"] for row in rows if "test-code" in row["why"]]
    tap.ok(first and first[0].startswith("sh ("), "real: its main process is explained", rows)


def main():
    kernel.need("dbus-daemon", "setpriv", "unshare")
    if flight.flight("status").returncode == 0:
        kernel.skip("a flight recorder runs already")
    tap = kernel.Tap()
    with kernel.workdir("/var/tmp"):
        try:
            for check in (check_played, check_group, check_real):
                check(tap)
        finally:
            flight.flight("stop")
    tap.end()


if __name__ == "__main__":
    main()
