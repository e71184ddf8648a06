#!/usr/bin/env python3
"""The page as a person uses it, in headless Chromium: it opens on the answer, a cause is clicked and seen in the lanes at its place
and in its colour, keys zoom, search finds, the saved file says the same without a server, and names of a hostile trace stay text."""
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import viewer  # noqa: E402

AXIS, CPU_PITCH, LANE_PITCH, LANE_HEIGHT, GUTTER = 26, 20, 29, 24, 190  # of page/draw.js
PICTURES = os.environ.get("HOLDUP_VIEW_PICTURES")  # a folder: pictures of what was seen are kept there
ROWS = "[...document.querySelectorAll('#verdict tbody tr')].map((tr) => [tr.textContent, tr.getAttribute('aria-selected')])"
HASH = "Object.fromEntries(new URLSearchParams(location.hash.slice(1)))"

HOSTILE = r"""# tracer: nop
#
     <img src=x>-77      [000] d..2.   10.000000: sched_switch: prev_comm=<img src=x> prev_pid=77 prev_prio=120 prev_state=S ==> next_comm=</script><b next_pid=78 next_prio=120
   </script><b-78        [000] d..3.   10.400000: sched_waking: comm=<img src=x> pid=77 prio=120 target_cpu=000
   </script><b-78        [000] d..2.   10.500000: sched_switch: prev_comm=</script><b prev_pid=78 prev_prio=120 prev_state=S ==> next_comm=<img src=x> next_pid=77 next_prio=120
     <img src=x>-77      [000] d..2.   11.000000: sched_switch: prev_comm=<img src=x> prev_pid=77 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
"""


def keep(browser, name):
    if PICTURES:
        browser.picture(os.path.join(PICTURES, name + ".png"))


def why(path):
    return json.loads(viewer.run("why", "--json", path).stdout)


def opens_on_the_answer(tap, browser, server, path):
    browser.open(server.url)
    tap.ok(browser.ready(), "the page is ready", browser.value("document.getElementById('status').textContent"), browser.complaints)
    answer, rows = why(path), browser.value(ROWS)
    missing = [index for index, (row, cause) in enumerate(zip(rows, answer["verdict"]))
               if (cause["who"] and cause["who"]["comm"] not in row[0]) or cause["what"] not in row[0] + "ran instead" or cause["object"] not in row[0]]
    tap.ok(len(rows) == len(answer["verdict"]) and not missing, "its rows are the %d causes of why, in order" % len(rows), missing)
    tap.ok(str(answer["target"]["tid"]) in browser.value("document.getElementById('headline').textContent"), "the sentence is on top")
    tap.ok([row[1] for row in rows].count("true") == 1 and rows[0][1] == "true", "the largest is selected")
    keep(browser, "opened")
    return answer


def lane_of(browser, tid):
    """Where the lane of a thread lies in the canvas, by the table of lanes: (top, index)."""
    lanes = browser.value("[...document.querySelectorAll('#lanes-table tbody tr')].map((tr) => [tr.dataset.tid || null, tr.dataset.cpu || null])")
    cpus = sum(1 for _, cpu in lanes if cpu is not None)
    threads = [thread for thread, cpu in lanes if cpu is None]
    return AXIS + cpus * CPU_PITCH + threads.index(str(tid)) * LANE_PITCH


def the_table_adds_up(tap, browser):
    lanes = browser.value("[...document.querySelectorAll('#lanes-table tbody tr')].map((tr) => "
                          "[...tr.querySelectorAll('td')].reduce((sum, td) => sum + Number(td.dataset.ns), 0))")
    window = browser.value(HASH)
    length = int(window["to"]) - int(window["from"])
    tap.ok(lanes and set(lanes) == {length}, "the states of each of %d lanes are the window" % len(lanes), lanes, length)


def pixels(tap, browser, path, tid):
    """The longest waits of a thread have the colour of their state in the middle of their place."""
    told = [json.loads(line) for line in viewer.run("states", "--json", str(tid), path).stdout.splitlines()]
    waits = sorted((span for span in told if span.get("woken_by")), key=lambda span: -span["ns"])[:3]
    window, top = browser.value(HASH), lane_of(browser, tid)
    start, length = int(window["from"]), int(window["to"]) - int(window["from"])
    width = browser.value("document.getElementById('canvas').clientWidth")
    legend = browser.value("[...document.querySelectorAll('#legend li')].map((li) => "
                           "[li.textContent, [...li.firstChild.getContext('2d').getImageData(10, 5, 1, 1).data].slice(0, 3).join()])")
    names = {colour: words for words, colour in legend if not words.startswith("CPU")}
    seen = []
    for wait in waits:
        x = GUTTER + ((wait["start_ns"] + wait["end_ns"]) / 2 - start) / length * (width - GUTTER)
        colour = browser.value("[...document.getElementById('canvas').getContext('2d').getImageData(%d, %d, 1, 1).data]"
                               ".slice(0, 3).join()" % (int(x), top + LANE_HEIGHT - 2))
        seen.append((wait["state"], names.get(colour, colour)))
    tap.ok(waits and all(words.startswith(("blocked", "sleeping", "waiting for work", "stopped")) for _, words in seen),
           "the longest waits of %d are seen at their places: %s" % (tid, seen), legend)


def a_cause_is_clicked(tap, browser):
    rows = browser.value(ROWS)
    index = 1 if len(rows) > 1 else 0
    browser.click("#verdict tbody tr:nth-child(%d)" % (index + 1))
    browser.ready()
    tap.ok([row[1] for row in browser.value(ROWS)].index("true") == index and browser.value(HASH)["row"] == str(index), "a click selects a cause")
    browser.value("document.querySelector('#verdict tbody tr:nth-child(3)').focus()")
    browser.key("Enter")
    browser.ready()
    tap.ok(browser.value(ROWS)[2][1] == "true" and browser.value(HASH)["row"] == "2", "so does Enter")
    browser.click("#verdict tbody tr:nth-child(1)")
    browser.ready()
    tap.ok(browser.value(ROWS)[0][1] == "true" and browser.value("document.querySelectorAll('#chain li').length") > 0,
           "the first one has its chain beside it", browser.value("document.getElementById('chain-title').textContent"))
    keep(browser, "clicked")


def arrows(tap, browser, server):
    """Where a wait of the chain ended there is ink between the lanes of who woke and who was woken."""
    verdict = json.loads(server.question("verdict")[1])
    start = server.opened()
    told, spans = verdict["told"]["tid"], [s for s in verdict["rows"][0]["spans"]]
    waits = [w for w in verdict["waits"] if w["depth"] == 0 and w["waker"] and w["waker"]["tid"] != told
             and any(s[0] < w["end_ns"] and s[1] > w["start_ns"] for s in spans)]
    if not waits:
        tap.skipped("arrows", "the first cause of this trace was not ended by a thread")
        return
    window = browser.value(HASH)
    first, length = int(window["from"]) - int(start["origin_ns"]), int(window["to"]) - int(window["from"])
    width = browser.value("document.getElementById('canvas').clientWidth")
    x = GUTTER + (waits[0]["end_ns"] - first) / length * (width - GUTTER)
    tops = sorted((lane_of(browser, waits[0]["waker"]["tid"]), lane_of(browser, told)))
    ink = browser.value("getComputedStyle(document.documentElement).getPropertyValue('--ink')").strip()
    rgb = ",".join(str(int(ink[at:at + 2], 16)) for at in (1, 3, 5))
    found = browser.value("(() => { const c = document.getElementById('canvas').getContext('2d'); let n = 0; for (let y = %d; y < %d; y++)"
                          "for (let x = %d; x <= %d; x++) n += [...c.getImageData(x, y, 1, 1).data].slice(0, 3).join() === '%s'; return n; })()"
                          % (tops[0] + LANE_HEIGHT, tops[1], int(x) - 4, int(x) + 4, rgb))
    tap.ok(found > 0, "an arrow leads from %s to who waited" % waits[0]["waker"]["comm"], waits[0], x, tops)


def keys(tap, browser):
    def length():
        window = browser.value(HASH)
        return int(window["to"]) - int(window["from"])

    browser.key("0")
    browser.ready()
    whole = length()
    browser.key("w")
    browser.ready()
    tap.ok(abs(length() * 2 - whole) <= 2, "w zooms in")
    the_table_adds_up(tap, browser)
    before = browser.value(HASH)
    browser.key("d")
    browser.ready()
    tap.ok(length() * 2 <= whole + 2 and browser.value(HASH) != before, "d moves")
    for _ in range(40):
        browser.key("+")
    browser.ready()
    tap.ok(length() == 1, "zooming in ends at 1 ns")
    the_table_adds_up(tap, browser)
    lanes = browser.value("document.querySelectorAll('#lanes-table tbody tr').length")
    tap.ok(all(browser.value("[...document.getElementById('canvas').getContext('2d').getImageData(%d, %d, 1, 1).data].slice(0, 3).join()" % (x, AXIS + 7))
               != browser.value("[...document.getElementById('canvas').getContext('2d').getImageData(%d, %d, 1, 1).data].slice(0, 3).join()" % (x, AXIS + CPU_PITCH - 3))
               for x in (GUTTER + 20, 1200)), "and a lane has its colour from end to end", lanes)
    browser.key("f")
    browser.ready()
    tap.ok(length() > 1, "f shows what is selected")
    browser.value("history.back()")
    tap.ok(browser.wait("Number(new URLSearchParams(location.hash.slice(1)).get('to')) - "
                        "Number(new URLSearchParams(location.hash.slice(1)).get('from')) < 100000"), "back is where it was before")
    browser.ready()
    browser.key("?")
    tap.ok(browser.value("document.getElementById('help').open"), "? shows the keys")
    browser.value("document.getElementById('help').close()")
    browser.key("0")
    browser.ready()


def in_sight(tap, browser):
    """What a click or a key asks for is seen without scrolling, and the times stay above lanes that are scrolled."""
    seen = "(() => { const b = document.getElementById('%s').getBoundingClientRect(); return b.top < innerHeight - 40 && b.bottom > 40; })()"
    browser.value("scrollTo(0, 0)")
    x, top = browser.value("(() => { const b = document.getElementById('canvas').getBoundingClientRect(); return [b.x + 600, b.y]; })()")
    browser.click_at(x, top + AXIS + 2 * CPU_PITCH + 8)
    browser.ready()
    tap.ok(browser.value("document.getElementById('details').textContent") and browser.value(seen % "details"), "a click on a lane brings its details into sight")
    browser.value("scrollTo(0, 0)")
    browser.key("e")
    browser.ready()
    tap.ok(browser.wait(seen % "events"), "e brings the events into sight")
    browser.key("Escape")
    browser.value("(() => { scrollTo(0, 0); const s = document.getElementById('stage'); s.style.maxHeight = '120px'; s.scrollTop = 60; })()")
    tap.ok(browser.value("document.getElementById('stage').scrollTop") > 30 and browser.value("Math.abs(document.getElementById('axis').getBoundingClientRect().top - document.getElementById('stage').getBoundingClientRect().top) < 3"),
           "the times stay above lanes that are scrolled")
    browser.value("(() => { const s = document.getElementById('stage'); s.style.maxHeight = ''; s.scrollTop = 0; })()")
    browser.key("0")
    browser.ready()


LANES = "[...document.querySelectorAll('#lanes-table tbody tr')].map((tr) => tr.dataset.tid || null)"


def folding(tap, browser, server):
    processes = json.loads(server.question("processes")[1])["processes"]
    tap.ok(sum(p["threads"] for p in processes) == json.loads(server.question("rows?most=1")[1])["count"] and all(p["active"] <= p["threads"] for p in processes),
           "every thread is in one process", processes[:3])
    depths = [p["depth"] for p in processes]
    tap.ok(depths[0] == 0 and all(b <= a + 1 for a, b in zip(depths, depths[1:])), "they are a tree", depths)
    before = browser.value(LANES)
    browser.key("u")
    browser.ready()
    tap.ok(browser.value(LANES) == before and browser.value(HASH)["all"] == "1", "unfolded by process, the lanes are those that matter")
    index = next(i for i, p in enumerate(processes) if p["threads"] > 1 and p["tgid"] == 0)
    lanes_above = len([tid for tid in before if tid is None])
    y = AXIS + lanes_above * CPU_PITCH  # the lines of processes are as high as CPUs
    shown = {p["tgid"]: 0 for p in processes}
    for lane in json.loads(server.question("verdict")[1])["lanes"]:
        shown[lane["tgid"] if lane["tgid"] in shown else 0] += 1
    for p in processes[:index]:
        y += CPU_PITCH + shown[p["tgid"]] * LANE_PITCH
    browser.value("document.getElementById('stage').scrollTop = %d" % (y - 40))
    browser.value("document.getElementById('canvas').scrollIntoView({block: 'center'})")
    x, top = browser.value("(() => { const b = document.getElementById('canvas').getBoundingClientRect(); return [b.x + 100, b.y]; })()")
    browser.click_at(x, top + y + 7)
    browser.ready()
    tap.ok(len(browser.value(LANES)) >= len(before) + processes[index]["threads"] - shown[0] and browser.value(HASH)["open"] == "0",
           "a click unfolds a process", len(browser.value(LANES)), browser.value(HASH))
    the_table_adds_up(tap, browser)
    keep(browser, "unfolded")
    browser.key("u")
    browser.ready()
    tap.ok(browser.value(LANES) == before, "and they are folded again")


def marks(tap, browser):
    browser.key("m")
    browser.ready()
    browser.value("(() => { const note = document.querySelector('#marks input'); note.value = 'here & <b>'; note.dispatchEvent(new Event('change')); })()")
    mark = browser.value("new URLSearchParams(location.hash.slice(1)).get('mark')")
    tap.ok(mark and mark.endswith("-here & <b>"), "a mark and its note are in the hash", mark)
    browser.key("w")
    browser.ready()
    browser.key("[")
    browser.ready()
    browser.key("d")
    browser.ready()
    browser.key("]")
    browser.ready()
    first, last = map(int, browser.value(HASH)["measure"].split("-"))
    tap.ok(str(last - first) in browser.value("document.getElementById('measured').textContent"), "between two points it is measured", first, last)
    browser.value("location.reload()")
    browser.wait("document.readyState === 'complete'")
    browser.ready()
    tap.ok(browser.value("document.querySelector('#marks input')?.value") == "here & <b>" and browser.value(HASH)["measure"] == "%d-%d" % (first, last),
           "both are there when it is loaded again")
    browser.key("Escape")
    browser.click("#marks button:last-child")
    browser.ready()
    tap.ok("mark" not in browser.value(HASH) and "measure" not in browser.value(HASH), "and go")


def listed(path, *options):
    return [json.loads(line) for line in viewer.run("list", "--json", *options, path).stdout.splitlines()]


EVENTS = ("[...document.querySelectorAll('#events-list [data-at]')].map((row) => row.textContent)")


def events(tap, browser, server, path):
    """Pages of events are those of list; a filter chooses; a click shows the event in the lanes."""
    wanted, told, query = listed(path), [], "most=333"
    origin = int(server.opened()["origin_ns"])
    while True:
        page = json.loads(server.question("events?" + query)[1])
        told += page["events"]
        if not page["more"]:
            break
        query = "most=333&from=%d&skip=%d" % (page["next_ns"] + origin, page["skip"])
    tap.ok([(e["ns"] + origin, e["tid"], e["event"]) for e in told] == [(e["time_ns"], -1 if e["tid"] is None else e["tid"], e["event"]) for e in wanted],
           "page by page they are the %d of list" % len(wanted), len(told))
    back = json.loads(server.question("events?back=1&most=7&to=%d&filter=sched_switch" % wanted[-1]["time_ns"])[1])["events"]
    switches = [e for e in wanted if e["event"] == "sched:sched_switch" and e["time_ns"] < wanted[-1]["time_ns"]]
    tap.ok([e["ns"] + origin for e in back] == [e["time_ns"] for e in switches[-7:]], "the last ones before a time, too")
    tap.ok(not json.loads(server.question("events?lane=t0&q=nowhere-to-be-seen")[1])["events"], "what is nowhere is not found")
    browser.key("0")
    browser.ready()
    browser.key("e")
    browser.ready()
    browser.value("(() => { const form = document.getElementById('events-form'); form.lane.checked = false; form.filter.value = 'sched_waking';"
                  "form.filter.dispatchEvent(new Event('change', { bubbles: true })); })()")
    browser.ready()
    rows = browser.value(EVENTS)
    tap.ok(rows and all("sched:sched_waking" in row for row in rows) and len(rows) < 60, "a filter of list chooses, rows in sight are in the document", len(rows))
    browser.value("document.getElementById('events-list').scrollTop = 1e6")
    browser.ready()
    tap.ok(browser.wait(EVENTS + ".pop() !== " + json.dumps(rows[-1])), "scrolling shows others")
    before = browser.value("document.getElementById('canvas').toDataURL()")
    browser.click("#events-list [data-at]:nth-child(12)")
    browser.ready()
    tap.ok(browser.value("document.getElementById('canvas').toDataURL()") != before
           and browser.value("document.querySelector('#events-list [aria-selected=true]') !== null"), "a click shows it in the lanes")
    browser.value("(() => { const form = document.getElementById('events-form'); form.filter.value = 'no_such == 1';"
                  "form.filter.dispatchEvent(new Event('change', { bubbles: true })); })()")
    tap.ok(browser.wait("document.getElementById('events-title').textContent.includes('no_such')") and browser.ready(), "a wrong filter is told of")
    keep(browser, "events")
    browser.key("Escape")
    browser.ready()


def sums(tap, browser, path):
    browser.click("#show-sums")
    browser.ready()
    lines = browser.value("[...document.querySelectorAll('#sums tr')].filter((tr) => tr.firstChild.style.paddingLeft === '4px').map((tr) => Number(tr.dataset.ns))")
    window = browser.value(HASH)
    tap.ok(lines and 0 < sum(lines) <= int(window["to"]) - int(window["from"]), "the sums of a window are divided", lines)
    told = browser.value("[...document.querySelectorAll('#sums tr')].map((tr) => [tr.firstChild.textContent.trim(), Number(tr.dataset.ns)])")
    answer = json.loads(viewer.run("why", "--json", "--from", "%d.%09d" % divmod(int(window["from"]), 10**9), "--to", "%d.%09d" % divmod(int(window["to"]), 10**9),
                                   path).stdout)
    for name, part in (("Working", "working"), ("Blocked", "blocked")):
        tap.ok([ns for words, ns in told if words == name] == [answer["wib"][part + "_ns"]], "%s as in why" % name, told[:3], answer["wib"])


def compared(tap, browser, server, path):
    """Two windows side by side: each has the causes that why tells of it."""
    start = server.opened()
    origin, end = int(start["origin_ns"]), start["end_ns"]
    half = origin + end // 2
    browser.open(server.url + "#from=%d&to=%d" % (half, half + end // 4))
    browser.ready()
    browser.key("c")
    browser.ready()
    tap.ok(browser.value(HASH)["compare"] == "%d-%d" % (half, half + end // 4), "c compares the window in sight", browser.value(HASH))
    shares = browser.value("[...document.querySelectorAll('#verdict-other tbody tr')].map((tr) => Number(tr.dataset.share))")
    answer = json.loads(viewer.run("why", "--json", "--from", "%d.%09d" % divmod(half, 10**9), "--to", "%d.%09d" % divmod(half + end // 4, 10**9), path).stdout)
    tap.ok(shares and abs(max(shares) - answer["verdict"][0]["share"]) < 0.02 and abs(sum(shares) - 1) < 0.02, "the second table is that of why for this window",
           max(shares), answer["verdict"][0]["share"])
    words = browser.value("[...document.querySelectorAll('#verdict-other td:last-child')].map((td) => td.textContent)")
    tap.ok(all(re.match(r"(only|the same|[+−][0-9.]+ points)", text) for text in words), "each cause says how it differs", words[:4])
    tap.ok(not browser.value("document.getElementById('stage-other').hidden") and browser.value("document.getElementById('canvas-other').height") > 100,
           "the lanes of both windows are drawn")
    keep(browser, "compared")
    browser.value("location.reload()")
    browser.wait("document.readyState === 'complete'")
    browser.ready()
    tap.ok(len(browser.value("[...document.querySelectorAll('#verdict-other tbody tr')]")) == len(shares), "the hash holds it")
    browser.key("c")
    browser.ready()
    tap.ok("compare" not in browser.value(HASH) and browser.value("document.getElementById('compared').hidden"), "c again: one window")


def big_times(tap, browser):
    """Past 2^53 ns a nanosecond is one."""
    with tempfile.TemporaryDirectory(prefix="holdup-view.") as folder:
        path = os.path.join(folder, "big.txt")
        with open(path, "w", encoding="utf-8") as out:
            out.write(HOSTILE.replace("   1", "   90000001"))
        with viewer.Server(path) as server:
            origin = int(server.opened()["origin_ns"])
            browser.open(server.url + "#of=t1&from=%d&to=%d" % (origin + 400000001, origin + 400000003))
            browser.ready()
            window = browser.value(HASH)
            tap.ok(origin > 2**53 and int(window["from"]) == origin + 400000001 and int(window["to"]) == origin + 400000003,
                   "times past 2^53 ns are exact", origin, window)


def search(tap, browser, sought):
    browser.value("document.querySelector('input[type=search]').value = ''")
    browser.click("input[type=search]")
    before = browser.value("location.hash")
    browser.key("w")
    tap.ok(browser.value("location.hash") == before and browser.value("document.querySelector('input[type=search]').value") == "w",
           "keys are not heard in the field")
    browser.value("document.querySelector('input[type=search]').value = ''")
    browser.type(sought)
    browser.key("Enter")
    found = browser.wait("document.querySelectorAll('#results [role=option]').length > 0")
    tap.ok(found, "search finds %s" % sought, browser.value("document.getElementById('found-title').textContent"))
    browser.click("#results [role=option]")
    browser.ready()
    tap.ok(browser.value("location.hash") != before, "a click on a result goes there")
    keep(browser, "found")
    browser.value("document.querySelector('input[type=search]').value = 'sched_process_fork'")
    browser.click("input[type=search]")
    browser.key("0")
    browser.value("document.querySelector('input[type=search]').value = 'signal_generate'")
    browser.key("Enter")
    browser.ready()
    found = browser.value("[...document.querySelectorAll('#results [role=option]')].map((li) => li.textContent)")
    tap.ok(found and any("signal:signal_generate" in text for text in found), "an event is found by its name", found)
    browser.value("document.activeElement.blur()")
    browser.key("n")
    browser.ready()
    tap.ok(browser.value("[...document.querySelectorAll('#results [role=option]')].findIndex((li) => li.getAttribute('aria-selected') === 'true')") == 0,
           "n goes to the next one")
    for _ in range(3):
        browser.key("p")
        browser.ready()
    browser.value("document.getElementById('found').hidden = true")


def details(tap, browser, tid):
    browser.key("0")
    browser.ready()
    browser.value("document.getElementById('canvas').scrollIntoView({block: 'center'})")
    x, y = browser.value("(() => { const b = document.getElementById('canvas').getBoundingClientRect(); return [b.x + b.width / 2, b.y]; })()")
    browser.click_at(x, y + lane_of(browser, tid) + 10)
    tap.ok(browser.wait("document.querySelectorAll('#details dd').length >= 2"), "a click on a lane says what it was in",
           browser.value("document.getElementById('details').textContent"))


def saved(tap, browser, path):
    with tempfile.TemporaryDirectory(prefix="holdup-view.") as folder:
        html, svg = os.path.join(folder, "a.html"), os.path.join(folder, "a.svg")
        done = viewer.run("view", "--save", html, "--svg", svg, path)
        tap.ok(done.returncode == 0 and not done.stdout, "a file is saved", done.stderr)
        text = open(html, encoding="utf-8").read()
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text).group(1)
        tap.ok("default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
               and not re.search(r'(src|href)="(?!data:)', text), "it loads nothing, and its policy says so", policy)
        tap.ok(len(text) < 2 << 20, "it has %d KiB" % (len(text) >> 10))
        browser.open("file://" + html)
        tap.ok(browser.ready(), "it opens without a server", browser.complaints, browser.value("document.getElementById('status').textContent"))
        rows, answer = browser.value(ROWS), why(path)
        tap.ok(len(rows) == len(answer["verdict"]), "with the same causes", len(rows))
        browser.key("w")
        tap.ok(browser.ready(), "and can be zoomed")
        keep(browser, "saved")
        browser.open("file://" + html, script=False)
        tap.ok(browser.wait("document.querySelectorAll('#verdict tbody tr').length === %d" % len(rows)), "without script the table is there")
        root = xml.parse(svg).getroot()
        lanes = root.find(".//*[@id='lanes']")
        tids = [lane.get("data-tid") for lane in lanes if lane.get("data-tid")]
        tap.ok(str(answer["target"]["tid"]) in tids and all(len(lane) > 1 for lane in lanes), "the picture has the lanes: %d" % len(lanes), tids)
        tap.ok(browser.wait("document.querySelectorAll('#chain li').length > 0 && document.querySelector('noscript #lanes').getBoundingClientRect().width > 300"),
               "and the chain and the picture")
        again = os.path.join(folder, "b.html")
        viewer.run("view", "--save", again, path)
        tap.ok(open(again, encoding="utf-8").read() == text, "the same trace gives the same bytes")
        report = viewer.run("why", "--html", again, path)
        page = open(again, encoding="utf-8").read()
        table = re.compile(r'<table id="verdict">.*?</table>', re.S)
        tap.ok(report.returncode == 0 and "futex-convoy" in report.stdout and table.search(page).group() == table.search(text).group()
               and policy in page, "why --html writes the same report", report.stderr)
        several = viewer.run("why", "--threads", "--html", os.path.join(folder, "c.html"), path)
        tap.ok(several.returncode == 3 and os.listdir(folder).count("c.html") == 0, "of several threads none", several.stderr)


def hostile(tap, browser):
    with tempfile.TemporaryDirectory(prefix="holdup-view.") as folder:
        path, html = os.path.join(folder, "hostile.txt"), os.path.join(folder, "h.html")
        with open(path, "w", encoding="utf-8") as out:
            out.write(HOSTILE)
        with viewer.Server(path) as server:
            browser.open(server.url + "#of=t1")
            browser.ready()
            lanes = json.loads(server.question("rows")[1])["lanes"]
            who = next((lane for lane in lanes if "img" in lane["comm"]), None)
            browser.open(server.url + "#of=" + (who or lanes[0])["lane"])
            browser.ready()
            tap.ok(who and "<img src=x>" in browser.value("document.body.textContent")
                   and browser.value("document.querySelectorAll('img, b, main script').length") == 0, "names of a hostile trace are text", lanes)
            keep(browser, "hostile")
        viewer.run("view", "--save", html, path)
        text = open(html, encoding="utf-8").read()
        tap.ok("<img" not in text and text.count("</script>") == 2 and "<b " not in text, "in a saved file, too")
        browser.open("file://" + html)
        tap.ok(browser.ready() and browser.value("document.querySelectorAll('img').length") == 0, "which opens", browser.complaints)


HOLD_THE_VERDICT = """const ask = window.fetch, go = new Promise((resolve) => { window.letItGo = resolve; });
window.fetch = async (url, ...more) => { if (String(url).includes("verdict")) await go; return ask(url, ...more); };"""


def lanes_come_first(tap, browser, server):
    """A verdict may take its time: who did most is drawn until it comes."""
    count = "document.querySelectorAll('#lanes-table tbody tr').length"
    browser.open(server.url, first=HOLD_THE_VERDICT)
    drawn = browser.wait(count + " > 2")
    state = browser.value("document.documentElement.dataset.state")
    tap.ok(drawn and state == "loading", "lanes are drawn while the verdict is made, and it is not said to be ready", drawn, state)
    browser.value("letItGo()")
    tap.ok(browser.ready() and len(browser.value(ROWS)) > 0, "and the verdict takes their place")


def the_server_goes(tap, browser, server):
    browser.open(server.url)
    browser.ready()
    tap.ok(server.end() == 0, "the server ends")
    tap.ok(browser.wait("document.documentElement.dataset.state === 'error'"), "a page that nobody touches notices it")
    browser.key("w")
    tap.ok(browser.wait("document.documentElement.dataset.state === 'error'") and "has stopped" in browser.value("document.getElementById('status').textContent")
           and len(browser.value(ROWS)) > 0, "the page says so, and keeps what it has")


def main():
    if not viewer.chromium():
        viewer.skip_all("chromium is missing (tools/setup check)")
    tap = viewer.Tap()
    with viewer.trace("futex-convoy") as path, viewer.Browser() as browser:
        with viewer.Server(path) as server:
            answer = opens_on_the_answer(tap, browser, server, path)
            the_table_adds_up(tap, browser)
            pixels(tap, browser, path, json.loads(server.question("verdict")[1])["told"]["tid"])
            a_cause_is_clicked(tap, browser)
            arrows(tap, browser, server)
            keys(tap, browser)
            details(tap, browser, answer["target"]["tid"])
            events(tap, browser, server, path)
            sums(tap, browser, path)
            folding(tap, browser, server)
            marks(tap, browser)
            in_sight(tap, browser)
            compared(tap, browser, server, path)
            big_times(tap, browser)
            browser.open(server.url)
            browser.ready()
            search(tap, browser, answer["target"]["comm"])
            saved(tap, browser, path)
            lanes_come_first(tap, browser, server)
            hostile(tap, browser)
            others = [text for text in browser.complaints if "no_such" not in text]  # the wrong filter
            tap.ok(not others, "the browser has nothing to complain about", *others)
            the_server_goes(tap, browser, server)
    tap.end()


if __name__ == "__main__":
    try:
        main()
    except subprocess.TimeoutExpired as late:
        sys.exit("not ok - %s" % late)
