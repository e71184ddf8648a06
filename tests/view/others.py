#!/usr/bin/env python3
"""Lanes of locks, disks and network devices: planted by a trace in text, told by the server, drawn in headless Chromium at their places."""
import html
import json
import os
import re
import sys
import tempfile
import time
import xml.etree.ElementTree as xml

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import viewer  # noqa: E402

S = 10**9
GUTTER, HEIGHT = 190, 24  # of page/draw.js
HASH = "Object.fromEntries(new URLSearchParams(location.hash.slice(1)))"
# From 10 s on: two requests overlap from .2 to .4, two packets, a contended lock from .8 to .9.
PLANTED = r"""# tracer: nop
#
          <idle>-0       [000] d..2.   10.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=<b>w</b> next_pid=77 next_prio=120
        <b>w</b>-77      [000] ....1   10.100000: block_rq_issue: 8,0 W 4096 () 2048 + 8 [<b>w</b>]
        <b>w</b>-77      [000] ....1   10.200000: block_rq_issue: 8,0 R 8192 () 4096 + 16 [<b>w</b>]
        <b>w</b>-77      [000] ..s.1   10.400000: block_rq_complete: 8,0 W () 2048 + 8 [0]
        <b>w</b>-77      [000] ..s.1   10.700000: block_rq_complete: 8,0 R () 4096 + 16 [0]
        <b>w</b>-77      [000] ....1   10.750000: net_dev_queue: dev=<img> skbaddr=00000000a1 len=1500
        <b>w</b>-77      [000] ....1   10.760000: net_dev_queue: dev=<img> skbaddr=00000000a2 len=500
        <b>w</b>-77      [000] ....1   10.800000: contention_begin: 0xffff888100075e78 (flags=READ)
        <b>w</b>-77      [000] ....1   10.900000: contention_end: 0xffff888100075e78 (ret=0)
        <b>w</b>-77      [000] d..2.   11.000000: sched_switch: prev_comm=<b>w</b> prev_pid=77 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
"""


def ask(server, text):
    status, body = server.question(text)
    return json.loads(body) if status == 200 else status


def groups_of(server):
    until = time.monotonic() + viewer.PATIENCE
    while time.monotonic() < until:
        told = ask(server, "others")
        if told["state"] != "reading":
            return {group["name"]: group for group in told["groups"]}
        time.sleep(0.1)
    raise RuntimeError("the lanes were not read in %d s" % viewer.PATIENCE)


def answers(tap, server):
    server.opened()
    tap.ok(server.question("series?rows=o0")[0] == 404, "before somebody asks nothing is read")
    groups = groups_of(server)
    tap.ok({name: len(group["lanes"]) for name, group in groups.items()} == {"locks": 1, "disks": 1, "network": 1}, "locks, disks and network are there", groups)
    disk, net, lock = (groups[name]["lanes"][0] for name in ("disks", "network", "locks"))
    told = ask(server, "other?lane=" + disk["lane"])
    tap.ok(told["sums"] == [8 * S // 10] and told["most"] == 2 and [s["text"].split(",")[0] for s in told["spans"]] == ["R", "W"],
           "requests in flight add up, the longest is told first", told)
    told = ask(server, "other?lane=%s&from=%d&to=%d" % (disk["lane"], 10 * S + S // 4, 10 * S + S // 2))
    tap.ok(told["sums"] == [3 * S // 20 + S // 4], "in a part of the time, too", told)
    tap.ok(ask(server, "other?lane=" + net["lane"])["sums"] == [2, 2000] and net["label"] == "<img> sent", "packets and bytes of a device", net)
    told = ask(server, "other?lane=" + lock["lane"])
    tap.ok(told["sums"] == [0, 0, S // 10] and told["spans"][0]["who"]["tid"] == 77, "who waited for a lock, and how long", told)
    for text in ("series?rows=t0", "series?rows=o3", "series?width=0", "other", "other?lane=c0", "other?lane=o99", "series?from=5&to=5"):
        tap.ok(server.question(text)[0] == 400, "%s is refused" % text)


MODEL = """model: requests
description: A request is done soon.
initial: idle
states:
  idle:
    transitions:
      - event: block:block_rq_issue
        to: busy
  busy:
    transitions:
      - event: block:block_rq_complete
        to: idle
        check:
          - deadline: 100ms
"""


def model(tap, folder, path):
    """What the model breaks is a span: the request from .1 to .4 s."""
    rules = os.path.join(folder, "requests.yaml")
    with open(rules, "w", encoding="utf-8") as out:
        out.write(MODEL)
    with viewer.Server(path, "--model", rules) as server:
        server.opened()
        lanes = groups_of(server)["model"]["lanes"]
        told = [ask(server, "other?lane=" + lane["lane"]) for lane in lanes]
        tap.ok([lane["label"] for lane in lanes] == ["violations of requests", "instances of requests"]
               and [(s["start_ns"], s["end_ns"], s["who"]["tid"]) for s in told[0]["spans"]] == [(S // 10, 4 * S // 10, 77)]
               and "100ms" in told[0]["spans"][0]["text"], "violations of a model are spans with what was broken", told)
    wrong = viewer.run("view", "--no-open", "--model", path, path)
    tap.ok(wrong.returncode == 2 and not wrong.stdout, "a model that is none is refused before anything is served", wrong.stderr)


def colour(browser, x, y):
    return browser.value("[...document.getElementById('canvas').getContext('2d').getImageData(%d, %d, 1, 1).data].slice(0, 3).join()" % (x, y))


def drawn(tap, browser, lane, lanes):
    """A step graph is as high as its level: at .3 s it is full, at .5 s half, at .05 s nothing."""
    top = lanes[lane]
    width = browser.value("document.getElementById('canvas').clientWidth")
    window = browser.value(HASH)
    start, length = int(window["from"]), int(window["to"]) - int(window["from"])

    def at(share, y):
        return colour(browser, int(GUTTER + (10 * S + share * S - start) / length * (width - GUTTER)), top + y)

    full, paper = at(0.33, HEIGHT - 4), at(0.05, HEIGHT - 4)
    tap.ok(full != paper and at(0.33, 8) == full and at(0.55, HEIGHT - 4) == full and at(0.55, 4) == paper and at(0.95, HEIGHT - 4) == paper,
           "the steps of requests in flight are drawn at their places", full, paper)


TABLE = "Object.fromEntries([...document.querySelectorAll('#others-table tbody tr')].map((tr) => [tr.dataset.lane, Number(tr.dataset.top)]))"


def page(tap, browser, server):
    groups = groups_of(server)
    disk = groups["disks"]["lanes"][0]["lane"]
    browser.open(server.url)
    browser.ready()
    before = browser.value("document.getElementById('canvas').toDataURL()")
    browser.key("o")
    browser.ready()
    names = browser.value("[...document.querySelectorAll('#groups button')].map((button) => button.dataset.group)")
    tap.ok(names == ["locks", "disks", "network"] and browser.value(TABLE) == {} and browser.value(HASH)["others"] == "none",
           "o shows the groups, folded", names, browser.value(HASH))
    browser.key("2")
    browser.ready()
    tap.ok(list(browser.value(TABLE)) == [disk] and browser.value(HASH)["others"] == "disks", "a digit opens one", browser.value(TABLE))
    drawn(tap, browser, disk, browser.value(TABLE))
    tap.ok("0.80 on average, 2 at most" in browser.value("document.getElementById('others-table').textContent"), "the table says it in words")
    browser.click("#groups [data-group=network]")
    browser.ready()
    tap.ok(browser.value(HASH)["others"] == "disks,network" and len(browser.value(TABLE)) == 2, "so does a click")
    browser.value("location.reload()")
    browser.wait("document.readyState === 'complete'")
    browser.wait("document.querySelectorAll('#others-table tbody tr').length === 2")
    browser.ready()
    tap.ok(len(browser.value(TABLE)) == 2, "the hash holds which are open")
    browser.value("document.getElementById('stage').scrollTop = 9999")
    x, y = browser.value("(() => { const b = document.getElementById('canvas').getBoundingClientRect(); return [b.x, b.y]; })()")
    width = browser.value("document.getElementById('canvas').clientWidth")
    browser.click_at(x + GUTTER + 0.3 * (width - GUTTER), y + browser.value(TABLE)[disk] + 8)
    tap.ok(browser.wait("document.querySelectorAll('#details li').length === 2"), "a click on a lane says what lies behind it",
           browser.value("document.getElementById('details').textContent"))
    tap.ok("<b>w</b>[77]" in browser.value("document.getElementById('details').textContent") and browser.value("document.querySelectorAll('main b, main img').length") == 0,
           "names stay text")
    browser.key("o")
    browser.ready()
    browser.value("document.getElementById('details').replaceChildren()")
    tap.ok(browser.value("document.getElementById('canvas').toDataURL()") == before and "others" not in browser.value(HASH), "o again: the picture is as before")
    tap.ok(not browser.complaints, "the browser has nothing to complain about", *browser.complaints)


def saved(tap, browser, folder, path, server):
    """A file has the same lanes, drawn and told without a server; without script a table has their sums."""
    file = os.path.join(folder, "a.html")
    done = viewer.run("view", "--save", file, path)
    text = open(file, encoding="utf-8").read()
    disk = groups_of(server)["disks"]["lanes"][0]["lane"]
    # A sanitizer says there that it cannot stop threads behind a filter of system calls.
    quiet = not done.stderr or "HOLDUP_SANITIZED" in os.environ
    tap.ok(done.returncode == 0 and quiet and "<img>" not in text and "<b>" not in text, "a file is saved, and names in it are escaped", done.stderr)
    browser.open("file://" + file)
    browser.ready()
    names = browser.value("[...document.querySelectorAll('#groups button')].map((button) => button.dataset.group)")
    tap.ok(names == ["locks", "disks", "network"] and browser.value(TABLE) == {}, "it has the groups, folded", names)
    browser.key("2")
    browser.ready()
    drawn(tap, browser, disk, browser.value(TABLE))
    tap.ok("0.80 on average, 2 at most" in browser.value("document.getElementById('others-table').textContent"), "the file says it in the same words")
    x, y = browser.value("(() => { const b = document.getElementById('canvas').getBoundingClientRect(); return [b.x, b.y]; })()")
    width = browser.value("document.getElementById('canvas').clientWidth")
    browser.click_at(x + GUTTER + 0.3 * (width - GUTTER), y + browser.value(TABLE)[disk] + 8)
    tap.ok(browser.wait("document.querySelectorAll('#details li').length === 2"), "a click says what lies behind it",
           browser.value("document.getElementById('details').textContent"))
    tap.ok("<b>w</b>[77]" in browser.value("document.getElementById('details').textContent") and browser.value("document.querySelectorAll('main b, main img').length") == 0,
           "names stay text there")
    browser.open("file://" + file, script=False)
    browser.wait("document.getElementById('others-told') !== null")
    told = browser.value("document.getElementById('others-told').textContent")
    tap.ok("requests in flight: 0.80 on average, 2 at most" in told and "<img> sent" in told and "2 packets, 2000 bytes" in told and "100 ms" in told,
           "without script a table tells the sums", told)
    part = viewer.run("view", "--save", file, "--from", "10.5", "--to", "10.72", path)
    text = open(file, encoding="utf-8").read()
    tap.ok(part.returncode == 0 and "requests in flight: 0.91 on average, 1 at most" in text and "img&gt; sent" not in text,
           "of a window those that have anything in it", part.stderr)


TOLD = re.compile(r'<tr data-lane="(o\d+)" data-group="(\w+)" data-kind="(\w+)" data-sums="([\d,]+)" data-most="(\d+)"><th>([^<]*)</th><td>([^<]*)</td>')
LANES = {"disk 8:0": ("disks", "level", str(8 * S // 10), "2"), "<img> sent": ("network", "amount", "2,2000", "0"),
         "kernel rw lock 0xffff888100075e78": ("locks", "states", "0,0,%d" % (S // 10), "0")}
SVG = "{http://www.w3.org/2000/svg}"


def told_in(text):
    return {html.unescape(label): (group, kind, sums, most) for _, group, kind, sums, most, label, _ in TOLD.findall(text)}


def area(path):
    """Of the rectangles of a path of the picture: columns times height; and the columns that it covers."""
    parts = re.findall(r"M(\d+) [\d.]+h(\d+)v-([\d.]+)h-\d+z", path.get("d"))
    return sum(int(width) * float(height) for _, width, height in parts), {int(x) + i for x, width, _ in parts for i in range(int(width))}


def columns_of(first, last):
    """Of 1000 of the whole second: those of a time in ms."""
    return set(range(first, last))


def pictures(tap, folder, path):
    """The picture, the file and the report of why have the same lanes; the picture's heights are the planted levels."""
    svg, page, report = (os.path.join(folder, name) for name in ("a.svg", "b.html", "c.html"))
    done = viewer.run("view", "--svg", svg, "--save", page, path)
    told = viewer.run("why", "--tid", "77", "--html", report, path)
    texts = {name: open(name, encoding="utf-8").read() for name in (page, report) if os.path.exists(name)}
    tap.ok(done.returncode == 0 and told.returncode == 0 and len(texts) == 2, "all three are written", done.stderr, told.stderr)
    sets = {os.path.basename(name): told_in(text) for name, text in texts.items()}
    lanes = {lane.find(SVG + "text/" + SVG + "tspan").text: lane for lane in xml.parse(svg).getroot().iter(SVG + "g") if lane.get("data-lane")}
    sets["a.svg"] = {label: tuple(lane.get("data-" + name) for name in ("group", "kind", "sums", "most")) for label, lane in lanes.items()}
    tap.ok(all(one == LANES for one in sets.values()), "each has the planted lanes with their sums", LANES, sets)
    words = {label: "".join(lane.itertext()) for label, lane in lanes.items()}
    tap.ok("requests in flight: 0.80 on average, 2 at most" in words["disk 8:0"] and "2 packets, 2000 bytes" in words["<img> sent"]
           and "waited for; no holder is known 100 ms" in words["kernel rw lock 0xffff888100075e78"], "the picture says it in the words of the file", words)
    disk, lock = lanes["disk 8:0"].find(SVG + "path[@data-part='0']"), lanes["kernel rw lock 0xffff888100075e78"].find(SVG + "path[@data-part='2']")
    size, covered = area(disk)
    tap.ok(covered == columns_of(100, 700) and abs(size - 18 * 400) < 10, "the steps of the disk are in their columns, and as high as the level", size, sorted(covered)[:3])
    tap.ok(area(lock)[1] == columns_of(800, 900), "so is the wait for the lock", lock.get("d"))
    part = viewer.run("view", "--svg", svg, "--from", "10.5", "--to", "10.72", path)
    left = [lane.get("data-group") for lane in xml.parse(svg).getroot().iter(SVG + "g") if lane.get("data-lane")]
    tap.ok(part.returncode == 0 and left == ["disks"], "a window has those that have anything in it", left)
    rules = os.path.join(folder, "requests.yaml")
    done = viewer.run("view", "--svg", svg, "--model", rules, path)
    groups = [lane.get("data-group") for lane in xml.parse(svg).getroot().iter(SVG + "g") if lane.get("data-lane")]
    tap.ok(done.returncode == 0 and groups.count("model") == 2, "a model has its lanes in the picture, too", groups, done.stderr)


def main():
    tap = viewer.Tap()
    with tempfile.TemporaryDirectory(prefix="holdup-view.") as folder:
        path = os.path.join(folder, "planted.txt")
        with open(path, "w", encoding="utf-8") as out:
            out.write(PLANTED)
        with viewer.Server(path) as server:
            answers(tap, server)
            model(tap, folder, path)
            pictures(tap, folder, path)
            if viewer.chromium():
                with viewer.Browser() as browser:
                    page(tap, browser, server)
                    saved(tap, browser, folder, path, server)
            else:
                tap.skipped("page", "chromium is missing (tools/setup check)")
    tap.end()


if __name__ == "__main__":
    main()
