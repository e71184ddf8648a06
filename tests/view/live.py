#!/usr/bin/env python3
"""A recording is seen while it is made: lanes come before the command ends, and at the end the page has its verdict."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import viewer  # noqa: E402
import kernel  # noqa: E402  of tests/kernel/lib

TRACING = "/sys/kernel/tracing/events"
POINTS = os.path.join(kernel.EXAMPLES, "probe-points")  # prints a line for each call of demo_work()
TICKS = os.path.join(kernel.PROGRAMS, "user-ticks")  # logs clock:tick, clock:tock and other:beat with libholdup, until it ends
# Once a second, until a file is made; meanwhile a program that tells what it does.
COMMAND = '"$2" >/dev/null & until [ -e "$0" ]; do "$1" | grep number >>"$0.log"; sleep 1; done; kill $!; exec true'


class Live(viewer.Server):
    """holdup view -- CMD"""

    def __init__(self, *words):
        self.process = subprocess.Popen([viewer.HOLDUP, "view", "--no-open", *words], env=viewer.ENV, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise RuntimeError("no address: " + self.process.stderr.read())
        _, _, self.host, self.token, _ = self.url.split("/")
        self.port = int(self.host.split(":")[1])


def state_of(server):
    return json.loads(server.question("start")[1])["state"]


def points_of(picture, name="probe-points["):
    """Lanes of points in programs, and of what programs tell."""
    groups = {group["name"]: group for group in picture.get("others", {"groups": []})["groups"]}
    return [lane for lane in groups.get("programs", {"lanes": []})["lanes"] if name in lane["label"]]


def touch(browser, table, label):
    """Click on a lane until the page tells of it: each picture may have its lanes elsewhere."""
    find = "[...document.querySelectorAll('%s tbody tr')].find((tr) => tr.textContent.includes('%s'))" % (table, label)
    until = time.monotonic() + viewer.PATIENCE
    while time.monotonic() < until:
        if browser.value(find + " !== undefined"):
            x, y = browser.value("(() => { const top = Number(%s.dataset.top); document.getElementById('stage').scrollTop = top - 60;"
                                 "const b = document.getElementById('canvas').getBoundingClientRect(); return [b.x + b.width - 40, b.y + top + 6]; })()" % find)
            browser.click_at(x, y)
            told = browser.value("document.getElementById('details').textContent")
            if told.startswith(label):
                return told
        time.sleep(0.1)
    return browser.value("document.getElementById('details').textContent")


def touched(tap, browser, server):
    """What is told of a lane while it is recorded: the program's own events by name, a thread's states."""
    until = time.monotonic() + viewer.PATIENCE
    behind = []
    while time.monotonic() < until and not behind:
        picture = json.loads(server.question("live")[1])
        lanes = points_of(picture, "user-ticks[")
        behind = [span for lane in lanes for span in picture["behind"][lane["lane"]]["spans"]]
        time.sleep(0.1)
    names, times = {span["text"] for span in behind}, [span["start_ns"] for span in behind]
    tap.ok(behind and names <= {"clock:tick", "clock:tock", "other:beat"} and "clock:tick" in names
           and times == sorted(times, reverse=True) and {span["who"]["comm"] for span in behind} == {"user-ticks"},
           "what a program tells by libholdup is there while it runs, the last event first", names, times[:3])
    told = touch(browser, "#others-table", "events of user-ticks[")
    tap.ok("The last events" in told and "clock:tick, by user-ticks[" in told, "a click on its lane tells its events", told)
    told = touch(browser, "#lanes-table", "CPU 0")
    tap.ok("In the last" in told and "%" in told, "a click on the lane of a CPU tells its states", told)
    tap.ok(browser.value("document.querySelectorAll('#details li').length") == 0, "and nothing of the lane before")


def first_picture(server):
    """The first picture with lanes of threads and of points while it is recorded."""
    until = time.monotonic() + viewer.PATIENCE
    while time.monotonic() < until:
        status, body = server.question("live")
        if status == 200 and json.loads(body)["threads"]["lanes"] and points_of(json.loads(body)):
            return json.loads(body)
        time.sleep(0.1)
    raise RuntimeError("no picture in %d s" % viewer.PATIENCE)


def follow(tap, folder):
    """The command waits for a file that is made once its lanes were seen: no time is in the verdict."""
    go, before = os.path.join(folder, "go"), stalled_ns()
    with Live("--probe", POINTS + ":demo_work", "--", "sh", "-c", COMMAND, go, POINTS, TICKS) as server:
        with viewer.Browser() as browser:
            browser.open(server.url)
            picture = first_picture(server)
            tap.ok(state_of(server) == "recording" and server.question("verdict")[0] == 503, "while it is recorded there is no verdict")
            start = picture["start"]
            tap.ok(start["from_ns"] < start["to_ns"] and picture["lanes"], "a picture has a window and lanes", start)
            tap.ok(server.question("others")[0] == 503 and server.ask("/live")[0] == 403, "nothing else is answered, and nothing without the token")
            drawn = browser.wait("document.querySelectorAll('#lanes-table tbody tr').length > 2")
            tap.ok(drawn and browser.value("document.documentElement.dataset.state") == "loading"
                   and browser.value("document.getElementById('status').textContent").startswith("Recording"), "the page draws it, and says that it is recorded",
                   browser.value("document.getElementById('status').textContent"), browser.complaints)
            drawn = browser.wait("document.getElementById('others-table').textContent.includes('probe-points[')")
            tap.ok(drawn and "events" in browser.value("document.getElementById('others-table').textContent"), "so are points in programs",
                   browser.value("document.getElementById('others-table').textContent"))
            touched(tap, browser, server)
            with open(go, "w", encoding="utf-8"):
                pass
            tap.ok(browser.ready(), "at the end the page is ready", browser.value("document.getElementById('status').textContent"), browser.complaints)
            headline = browser.value("document.getElementById('headline').textContent")
            tap.ok(re.match(r"(sh|true)\[\d+\] took", headline) and browser.value("document.querySelectorAll('#verdict tbody tr').length") > 0,
                   "it opens on the verdict of the command", headline)
            others = [text for text in browser.complaints if "/live" not in text]  # before the first picture there is none
            tap.ok(not others, "the browser has nothing to complain about", *others)
        counted(tap, server, go)
        if before is not None:
            pressure(tap, server, stalled_ns() - before)
        tap.ok(server.question("live")[0] == 404, "there is no picture of a recording that is over")
        tap.ok(server.end(signal.SIGTERM) == 0, "it ends with 0")


def counted(tap, server, go):
    """Behind the end the lanes have each call that the program printed."""
    told = json.loads(server.question("others")[1])
    while told["state"] == "reading":
        time.sleep(0.1)
        told = json.loads(server.question("others")[1])
    lanes = points_of({"others": told})
    sums = [json.loads(server.question("other?lane=" + lane["lane"])[1])["sums"][0] for lane in lanes]
    with open(go + ".log", encoding="utf-8") as log:
        calls = len(log.readlines())
    tap.ok(sum(sums) == calls > 0 or len(lanes) >= 60, "at the end each of %d calls is in a lane of its process" % calls, lanes, sums)


def stalled_ns():
    """The kernel's own total of stalls for want of a CPU; None: it does not tell."""
    try:
        with open("/proc/pressure/cpu", encoding="utf-8") as file:
            return int(re.search(r"some .*total=(\d+)", file.read()).group(1)) * 1000
    except OSError:
        return None


def pressure(tap, server, most_ns):
    """Of a lane of pressure no more than the kernel counted from before to behind the recording."""
    groups = {group["name"]: group["lanes"] for group in json.loads(server.question("others")[1])["groups"]}
    lane = next((lane["lane"] for lane in groups.get("pressure", ()) if lane["label"] == "CPU"), None)
    sums = json.loads(server.question("other?lane=%s" % lane)[1])["sums"] if lane else []
    tap.ok(lane and sum(sums) <= most_ns, "stalls are within the kernel's total of %d ns" % most_ns, groups.get("pressure"), sums)


def refused(tap):
    for words in (("--live", "a.holdup"), ("--save", "a.html", "--", "true"), ("-d", "3", "a.holdup"), ("--from", "+1", "--live"), ("--probe", "sh:main", "a.holdup"), ("--locks", "--live")):
        done = viewer.run("view", *words)
        tap.ok(done.returncode == 2, "%s is refused" % " ".join(words), done.stderr)


def not_begun(tap):
    """Who may not record is told so, and gets no address."""
    if os.geteuid() != 0:
        tap.skipped("no rights", "needs root, to give rights up")
        return
    with tempfile.TemporaryDirectory(prefix="holdup-view.") as folder:
        os.chmod(folder, 0o755)
        program = os.path.join(folder, "holdup")
        shutil.copy(viewer.HOLDUP, program)
        for words in (("--live",), ("--", "true")):
            done = subprocess.run([program, "view", "--no-open", *words], user=65534, group=65534, extra_groups=[], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=viewer.PATIENCE, check=False)
            tap.ok(done.returncode == 3 and not done.stdout and re.fullmatch(r"holdup view: [^\n]+\n", done.stderr),
                   "view %s without rights prints the reason alone" % " ".join(words), done.stdout, done.stderr)


def main():
    if os.environ.get("HOLDUP_SANITIZED"):
        print("1..0 # SKIP a sanitizer's allocator may be locked for ever in a child of a process with threads")
        return
    tap = viewer.Tap()
    refused(tap)
    not_begun(tap)
    if os.geteuid() != 0 or not os.path.isdir(TRACING):
        tap.skipped("live", "needs root and tracefs")
    elif not viewer.chromium():
        tap.skipped("live", "chromium is missing (tools/setup check)")
    else:
        with tempfile.TemporaryDirectory(prefix="holdup-view.") as folder:
            follow(tap, folder)
    tap.end()


main()
