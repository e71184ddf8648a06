#!/usr/bin/env python3
"""What programs log themselves: collected, switched from outside, recovered, and read in one
with the kernel's events. The programs know what they logged.
"""
import collections
import json
import os
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, "lib"), os.path.join(HERE, "..", "runtime")]
import kernel  # noqa: E402
import probe  # noqa: E402
from kernel import holdup, running  # noqa: E402

REQUESTS = os.path.join(kernel.EXAMPLES, "user-requests")
TICKS = os.path.join(kernel.PROGRAMS, "user-ticks")
NOBODY = 65534


def listed(trace, *args):
    """The lines of holdup list --json, parsed."""
    done = holdup("list", "--json", *args, trace)
    return [json.loads(line) for line in done.stdout.splitlines()], done


def count_by_event(trace, wanted=""):
    lines, _ = listed(trace)
    names = collections.Counter(line["event"] for line in lines)
    return {name: n for name, n in names.items() if name.startswith(wanted)}


def own(trace):
    """Events of programs themselves, by name."""
    return {name: n for name, n in count_by_event(trace).items()
            if name.split(":")[0] in ("shop", "clock", "other")}


def foreign_reader_agrees(tap, path, count, name):
    """babeltrace2 reads the same number of events, without a word of complaint."""
    if not shutil.which("babeltrace2"):
        tap.skipped(name, "babeltrace2 is not installed")
        return
    done = subprocess.run(["babeltrace2", path], capture_output=True, text=True, check=False)
    tap.ok(done.returncode == 0 and not done.stderr and len(done.stdout.splitlines()) == count,
           name, done.stderr[-500:], len(done.stdout.splitlines()), count)


def start_ticks(*before):
    process = running(*before, TICKS, stdout=subprocess.PIPE, text=True)
    return process


def user_list(*args):
    return json.loads(holdup("user", "list", "--json", *args).stdout)["processes"]


def one_trace(tap):
    """Kernel and program in one: order, why between two events, filters, places."""
    subprocess.run([REQUESTS, "--prepare"], check=True)
    done = holdup("record", "--", REQUESTS, "--truth", "truth.json")
    tap.ok(done.returncode == 0 and "of 1 program itself" in done.stderr,
           "record collects what the command logs", done.stderr)
    events = own("run.holdup")
    tap.ok(events == {"shop:request_begin": 100, "shop:request_end": 100},
           "all of it is listed in one with the kernel's events", events)
    lines, _ = listed("run.holdup")
    times = [line["time_ns"] for line in lines]
    tap.ok(times == sorted(times), "in order")
    order(tap, lines)
    slow, _ = listed("run.holdup", "--filter", "shop:request_end && kind != 0")
    tap.ok([line["fields"]["request"] for line in slow] == [20, 50, 80], "filters know its fields",
           slow)
    reasons(tap)
    places(tap)
    foreign_reader_agrees(tap, "run.holdup/user", 200, "babeltrace2 reads the folder user/")
    check = holdup("check-trace", "run.holdup")
    tap.ok(check.returncode == 0, "check-trace finds nothing wrong", check.stdout[-800:])
    state = holdup("list", "--state", "--filter", "shop:request_begin && request == 7",
                   "run.holdup")
    tap.ok("request=7" in state.stdout and state.returncode == 0,
           "list --state knows what the thread is in", state.stdout, state.stderr)


def order(tap, lines):
    """The sleep of request 50 lies between its begin and its end, and so does each switch."""
    begin = next(i for i, line in enumerate(lines)
                 if line["event"] == "shop:request_begin" and line["fields"]["request"] == 50)
    end = next(i for i, line in enumerate(lines)
               if line["event"] == "shop:request_end" and line["fields"]["request"] == 50)
    tid = lines[begin]["tid"]
    slept = [line for line in lines[begin:end] if line["tid"] == tid
             and line["event"] == "sched:sched_switch"]
    tap.ok(lines[end]["tid"] == tid and slept, "the switches of a request lie within it")
    # No event of a program may lie where the kernel says that another thread ran.
    wrong, on_cpu = [], {}
    for line in lines:
        if line["event"] == "sched:sched_switch":
            on_cpu[line["cpu"]] = line["fields"]["next_pid"]
        elif line["event"].startswith("shop:") and on_cpu.get(line["cpu"], 0) not in (0, line["tid"]):
            wrong.append(line)
    tap.ok(not wrong, "no event is where another thread ran", wrong[:3])


def reasons(tap):
    """What was slow, and why, by the begin and the end of the request."""
    with open("truth.json") as file:
        truth = json.load(file)
    for request, good in ((20, ("lock", "other_thread")), (50, ("timer",)), (80, ("disk",))):
        report, done = kernel.why("--from", "shop:request_begin:request == %d" % request,
                                  "--to", "shop:request_end:request == %d" % request,
                                  "run.holdup")
        if not tap.ok(report is not None, "why --from --to of request %d" % request, done.stderr):
            continue
        ends, _ = listed("run.holdup", "--filter",
                         "shop:request_end && request == %d" % request)
        tap.near(kernel.window_ns(report), ends[0]["fields"]["ns"], "the window is the request's",
                 floor=3_000_000)
        first = report["verdict"][0]
        tap.ok(first["kind"] in good, "request %d was slow for: %s" % (request, first["kind"]),
               kernel.show_roots(report))
        if request == 20:
            tap.ok((first["who"] or {}).get("comm") == "cache-keeper", "and who held the lock",
                   kernel.show_roots(report))
        if request == 50:
            tap.near(first["ns"], truth["root"]["ns"], "as long as it slept")


def places(tap):
    done = holdup("list", "--place", "--json", "--filter", "shop:request_end && request == 42",
                  "run.holdup")
    place = json.loads(done.stdout)["place"]
    lines, _ = listed("run.holdup", "--from", place, "-n", "1")
    tap.ok(lines and lines[0]["fields"].get("request") == 42, "a place leads back to the event",
           place, lines)


def choosing(tap):
    done = holdup("record", "-o", "none.holdup", "--user-events", "none", "--", TICKS, "5")
    tap.ok(not os.path.exists("none.holdup/user"), "--user-events none collects nothing", done.stderr)
    done = holdup("record", "-o", "true.holdup", "--", "true")
    tap.ok(not os.path.exists("true.holdup/user"), "an empty user/ is removed", done.stderr)
    done = holdup("record", "-o", "some.holdup", "--user-events", "clock:tick,other", "--", TICKS, "40")
    tap.ok(own("some.holdup") == {"clock:tick": 40, "other:beat": 4}, "--user-events chooses events",
           own("some.holdup"))
    done = holdup("record", "--user-events", "what?%", "--", "true")
    tap.ok(done.returncode == 2, "a pattern that makes no sense is wrong usage", done.stderr)


def another_user(tap):
    """Under sudo the command is the user's, and so is what it logs."""
    os.chmod(".", 0o755)
    env = dict(os.environ, SUDO_UID=str(NOBODY), SUDO_GID=str(NOBODY))
    shutil.copy(TICKS, "ticks")
    done = holdup("record", "-o", "sudo.holdup", "--", "./ticks", "30", env=env)
    events = own("sudo.holdup")
    tap.ok(events.get("clock:tick") == 30, "what the command logs as another user", events,
           done.stderr)
    owners = {os.stat(os.path.join(path, name)).st_uid
              for path, folders, files in os.walk("sudo.holdup") for name in folders + files}
    tap.ok(owners == {NOBODY}, "is that user's", owners)
    tap.ok(os.stat("sudo.holdup").st_mode & 0o777 == 0o700, "and nobody else's")


def killed(tap):
    """A command that is killed: nothing but what was not begun is missing."""
    done = holdup("record", "-o", "killed.holdup", "--", "sh", "-c",
                  TICKS + " & sleep 0.3; kill -9 $!; wait")
    events = own("killed.holdup")
    folders = os.listdir("killed.holdup/user")
    files = os.listdir("killed.holdup/user/" + folders[0])
    size = sum(os.path.getsize("killed.holdup/user/%s/%s" % (folders[0], name)) for name in files)
    tap.ok(events.get("clock:tick", 0) > 50, "a killed program's events are there", events,
           done.stderr)
    tap.ok(size < 600000 and not [name for name in files if name.startswith(".")],
           "and what it had not begun is cut off", files, size)
    foreign_reader_agrees(tap, "killed.holdup/user", sum(events.values()),
                          "babeltrace2 reads what it left")


def running_process(tap):
    """-p: a process is asked, and is as before afterwards."""
    with start_ticks() as process:
        pid = int(process.stdout.readline())
        before = user_list(pid)[0]
        tap.ok(not before["logs"] and before["comm"] == "user-ticks", "user list knows it", before)
        holdup("user", "on", pid, "other")
        during = user_list(pid)[0]
        done = holdup("record", "-o", "live.holdup", "-d", "0.5", "-p", pid)
        tap.ok(own("live.holdup").get("clock:tick", 0) > 100, "record -p collects its events",
               own("live.holdup"), done.stderr)
        after = user_list(pid)[0]
        tap.ok(after["classes"] == during["classes"] and after["mode"] == "flight",
               "and what was on is on again", during, after)
        count = own("live.holdup")
        time.sleep(0.05)
        tap.ok(own("live.holdup") == count, "and the trace grows no more")
        switching(tap, pid)


def switching(tap, pid):
    done = holdup("user", "on", pid, "clock:tick", "--stream", os.path.abspath("stream"))
    tap.ok(done.returncode == 0 and "clock            1 of 2 events on" in done.stdout,
           "user on switches an event on", done.stdout, done.stderr)
    time.sleep(0.2)
    holdup("user", "off", pid, "clock,other")
    time.sleep(0.05)
    done = holdup("recover", pid, "-o", "recovered")
    events = own("recovered")
    tap.ok(set(events) == {"clock:tick", "other:beat"} and "the process lives" in done.stdout,
           "recover takes them from the living process", events, done.stdout, done.stderr)
    foreign_reader_agrees(tap, "recovered", sum(events.values()), "and babeltrace2 reads them")
    done = holdup("user", "on", pid, "a:b:c")
    tap.ok(done.returncode == 2, "a pattern that makes no sense is wrong usage", done.stderr)


def crashed(tap):
    """Flight recorder of a killed process; its control file goes."""
    with start_ticks() as process:
        pid = int(process.stdout.readline())
        holdup("user", "on", pid, "all")
        time.sleep(0.2)
        os.kill(pid, signal.SIGKILL)
        process.wait()
        done = holdup("recover", pid, "-o", "crash")
        events = own("crash")
        tap.ok(events.get("clock:tock", 0) > 50, "recover finds what a killed process kept",
               events, done.stdout, done.stderr)
        folder = "/dev/shm/holdup-%d" % os.geteuid()
        holdup("user", "list")
        tap.ok(not [name for name in os.listdir(folder) if name.startswith("%d-" % pid)],
               "its control file is removed by user list")
        shutil.rmtree("%s/user-ticks-%d" % (folder, pid), ignore_errors=True)
    done = holdup("recover", pid, "-o", "nothing")
    tap.ok(done.returncode == 3 and kernel.clear_error(done) and not os.path.exists("nothing"),
           "what is not there is told, and makes no folder", done.stderr)


def container(tap):
    """A process with other numbers and other files: found, asked, copied, and its threads known."""
    inner = "mount -t tmpfs none /dev/shm && exec " + TICKS
    probe = subprocess.run(["unshare", "--pid", "--fork", "--mount", "--mount-proc", "true"],
                           capture_output=True, check=False)
    if probe.returncode:
        tap.skipped("containers", "unshare does not work here")
        return
    with running("unshare", "--pid", "--fork", "--mount", "--mount-proc", "--kill-child", "sh",
                 "-c", inner, stdout=subprocess.PIPE, text=True) as process:
        inner_pid = int(process.stdout.readline())
        found = [listed_below(process)["pid"]]
        if not tap.ok(found[0] and inner_pid != found[0],
                      "a process of another pid namespace is listed", found, inner_pid):
            return
        done = holdup("record", "-o", "box.holdup", "-d", "2", "-p", found[0])
        lines, _ = listed("box.holdup", "--filter", "clock:tick")
        tap.ok(len(lines) > 20, "what it logs is copied", len(lines), done.stderr)
        tids = collections.Counter(line["tid"] for line in lines)
        tap.ok(set(tids) == {found[0]}, "its threads have the kernel's numbers", tids, found)
        tap.ok({line["fields"]["vtid"] for line in lines} == {inner_pid},
               "beside those that it sees")
    born_in_container(tap)


def born_in_container(tap):
    """The command makes the container: nobody could look at its numbers before."""
    done = holdup("record", "-o", "born.holdup", "--", "unshare", "--pid", "--fork", "--mount",
                  "--mount-proc", TICKS, "30")
    lines, _ = listed("born.holdup", "--filter", "clock:tick")
    forks, _ = listed("born.holdup", "--filter", "sched:sched_process_fork && comm == unshare")
    children = {line["fields"]["child_pid"] for line in forks}
    tap.ok(len(lines) == 30 and {line["fields"]["vtid"] for line in lines} == {1}
           and {line["tid"] for line in lines} == children,
           "a container that begins in the recording: its threads are known, too",
           len(lines), children, done.stderr)
    holdup("cut", "-o", "born.cut", "born.holdup")
    cut, _ = listed("born.cut", "--filter", "clock:tick")
    tap.ok([line["tid"] for line in cut] == [line["tid"] for line in lines],
           "and they are in a cut")


def parent_of(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def is_below(pid, top):
    while pid > 1 and pid != top:
        pid = parent_of(pid)
    return pid == top


def listed_below(process):
    """The process that uses libholdup and was begun by this one, as a row; other tests run, too."""
    for _ in range(200):
        rows = [row for row in user_list() if is_below(row["pid"], process.pid)]
        if rows:
            return rows[0]
        time.sleep(0.05)
    return {"pid": 0}


def same_numbers(tap):
    """Two processes of one number, in two pid namespaces, that share all files."""
    last = "/proc/sys/kernel/ns_last_pid"
    if not os.path.exists(last):
        tap.skipped("two processes of one number", "there is no " + last)
        return
    with start_ticks() as outer:
        pid = int(outer.stdout.readline())
        script = "echo %d >%s; %s & read line" % (pid - 1, last, TICKS)
        with running("unshare", "--pid", "--fork", "--mount", "--mount-proc", "--kill-child", "sh",
                     "-c", script, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                     text=True) as box:
            inner_pid = int(box.stdout.readline())
            inner = listed_below(box)["pid"]
            found = user_list(pid)
            if not tap.ok(inner_pid == pid and inner and found and inner != pid,
                          "both of two processes of one number are listed", inner, found):
                return
            holdup("user", "on", inner, "clock")
            holdup("user", "on", pid, "other")
            time.sleep(0.1)
            on = {row["pid"]: {one["class"]: one["on"] for one in row["classes"]}
                  for row in user_list()}
            tap.ok(on.get(inner) == {"clock": 2, "other": 0} and on.get(pid) == {"clock": 0,
                                                                                 "other": 1},
                   "and switched, each for itself", on)
            done = holdup("record", "-o", "both.holdup", "-d", "2", "-p", pid, "-p", inner)
            lines, _ = listed("both.holdup", "--filter", "clock:tick")
            tids = collections.Counter(line["tid"] for line in lines)
            tap.ok(tids[pid] > 20 and tids[inner] > 20 and set(tids) == {pid, inner},
                   "and recorded, each with its number", tids, done.stderr)
    for name in os.listdir("/dev/shm/holdup-%d" % os.geteuid()):
        if name.startswith("user-ticks-"):
            shutil.rmtree("/dev/shm/holdup-%d/%s" % (os.geteuid(), name), ignore_errors=True)


def user_namespace(tap):
    """The root of another user namespace, with files of its own and with ours."""
    os.chmod(".", 0o755)
    shutil.copy(TICKS, "ticks")
    become = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups",
              "unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount", "--mount-proc",
              "--kill-child"]
    if subprocess.run([*become, "true"], capture_output=True, check=False).returncode:
        tap.skipped("user namespaces", "unshare does not work here")
        return
    for name, before in (("its own files", "mount -t tmpfs none /dev/shm && "), ("our files", "")):
        with running(*become, "sh", "-c", before + "exec ./ticks", stdout=subprocess.PIPE,
                     text=True) as process:
            inner_pid = int(process.stdout.readline())
            pid = listed_below(process)["pid"]
            if not tap.ok(pid and inner_pid != pid, "a user namespace with %s: listed" % name, pid):
                continue
            done = holdup("user", "on", pid, "clock:tick")
            tap.ok("1 of 2 events on" in done.stdout, "a user namespace with %s: switched" % name,
                   done.stdout, done.stderr)
            done = holdup("record", "-o", "ns.holdup", "-d", "2", "-p", pid)
            lines, _ = listed("ns.holdup", "--filter", "clock:tick")
            tap.ok(len(lines) > 20 and {line["fields"]["vtid"] for line in lines} == {inner_pid},
                   "a user namespace with %s: recorded" % name, len(lines), done.stderr)
        shutil.rmtree("ns.holdup", ignore_errors=True)
    shutil.rmtree("/dev/shm/holdup-%d" % NOBODY, ignore_errors=True)


def hostile(tap):
    """One of two programs scribbles on its buffers and its control page while both are recorded."""
    with start_ticks() as bad, start_ticks() as good:
        pids = [int(process.stdout.readline()) for process in (bad, good)]
        # It is its own user's: to another it must look as whatever it likes.
        with running(kernel.HOLDUP, "record", "-o", "hostile.holdup", "-d", "3", "-p", str(pids[0]), "-p",
                     str(pids[1]), stderr=subprocess.PIPE, text=True) as record:
            end = time.monotonic() + 2.5
            seed = count = 0
            while time.monotonic() < end and bad.poll() is None:
                count += probe.scribble(pids[0], seed, r"/cpu\d+-|\.control")
                seed += 1
                time.sleep(0.05)
            _, said = record.communicate(timeout=60)
        tap.ok(record.returncode == 0 and good.poll() is None and count,
               "a program scribbles %d bytes on what is its own: record ends well" % count,
               record.returncode, said)
    lines, done = listed("hostile.holdup", "--filter", "clock:tick && tid == %d" % pids[1])
    numbers = [line["fields"]["n"] for line in lines]
    tap.ok(len(numbers) > 20 and numbers == list(range(numbers[0], numbers[0] + len(numbers))),
           "and the other one's events are all there", len(numbers), done.stderr[-500:])
    done = holdup("check-trace", "hostile.holdup")
    tap.ok(done.returncode in (0, 1), "and check-trace looks at it", done.returncode,
           done.stderr[-500:])


def main():
    kernel.need()
    if not os.access(REQUESTS, os.X_OK):
        kernel.skip("no example at " + REQUESTS)
    tap = kernel.Tap()
    with kernel.workdir():
        for test in (one_trace, choosing, another_user, killed, running_process, crashed,
                     container, same_numbers, user_namespace, hostile):
            kernel.note(test.__name__)
            test(tap)
    tap.end()


if __name__ == "__main__":
    main()
