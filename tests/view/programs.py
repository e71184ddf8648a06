#!/usr/bin/env python3
"""A trace of programs alone, as LTTng-UST writes it: it opens, its events are lanes, and what is unknown is not told."""
import json
import os
import struct
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import viewer  # noqa: E402
import terminal  # noqa: E402  of tests/kernel/lib

MS = 10**6
THREADS = {501: 30, 502: 20}  # events of each: one a millisecond from the first one on, and one at the end
METADATA = """/* CTF 1.8 */
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { uint32_t magic; uint32_t stream_id; }; };
env { domain = "ust"; tracer_name = "lttng-ust"; tracer_major = 2; tracer_minor = 13; };
clock { name = "monotonic"; freq = 1000000000; };
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := time_t;
stream {
	id = 0;
	packet.context := struct { time_t timestamp_begin; time_t timestamp_end; uint64_t content_size; uint64_t packet_size; uint32_t cpu_id; };
	event.header := struct { uint32_t id; time_t timestamp; };
	event.context := struct { uint32_t _vtid; };
};
event { id = 0; name = "shop:<b>order</b>"; stream_id = 0; fields := struct { uint32_t _number; }; };
"""
HASH = "Object.fromEntries(new URLSearchParams(location.hash.slice(1)))"
LANES = "[...document.querySelectorAll('#others-table tbody tr')].map((tr) => [tr.dataset.label, Number(tr.dataset.top), tr.lastChild.dataset.sums])"


def write_trace(folder):
    """One stream. The first event is at 5 s of the clock."""
    moments = sorted((5000 * MS + i * MS, tid) for tid, count in THREADS.items() for i in [*range(count - 1), 99])
    events = b"".join(struct.pack("<IQII", 0, at, tid, number) for number, (at, tid) in enumerate(moments))
    head = struct.calcsize("<IIQQQQI")
    bits = (head + len(events)) * 8
    packet = struct.pack("<IIQQQQI", 0xC1FC1FC1, 0, moments[0][0], moments[-1][0], bits, bits, 0) + events
    for name, data in (("metadata", METADATA.encode()), ("stream_0", packet)):
        with open(os.path.join(folder, name), "wb") as out:
            out.write(data)


def commands(tap, path):
    why = viewer.run("why", "--tid", "501", path)
    tap.ok(why.returncode == 3 and not why.stdout and "no sched:sched_switch" in why.stderr, "why refuses", why)
    states = [json.loads(line) for line in viewer.run("states", "--json", "501", path).stdout.splitlines()]
    tap.ok({span["wib"] for span in states if "wib" in span} == {"uncertain"}, "between two events of a thread nothing is known of it", states)
    analyses = {one["name"]: one["possible"] for one in json.loads(viewer.run("info", "--json", path).stdout)["analyses"]}
    tap.ok(analyses["user events"] and not analyses["why"], "info says that there are user events, and nothing for why", analyses)
    tap.ok(len(viewer.run("list", "--json", path).stdout.splitlines()) == sum(THREADS.values()), "list tells every event")


def answers(tap, server):
    start = server.opened()
    tap.ok(start["state"] == "ready" and start["only_programs"] and start["no_verdict"].startswith("No verdict"), "it opens, and says what is missing", start)
    for question in ("verdict", "verdict?slot=0", "sums?slot=0"):
        status, body = server.question(question)
        tap.ok(status == 404 and b"No verdict" in body, "%s is not answered" % question, status, body)


def page(tap, browser, server):
    browser.open(server.url)
    tap.ok(browser.ready() and not browser.complaints, "the page is ready, and nothing went wrong", browser.complaints)
    tap.ok(browser.value("document.getElementById('headline').textContent").startswith("No verdict"), "it says on top that there is no verdict")
    lanes = browser.value(LANES)
    tap.ok([(label, int(sums.split(",")[0])) for label, _, sums in lanes] == [("events of thread %d" % tid, count) for tid, count in THREADS.items()],
           "events of programs are lanes from the beginning", lanes)
    window, width = browser.value(HASH), browser.value("document.getElementById('canvas').clientWidth")
    start, length = int(window["from"]), int(window["to"]) - int(window["from"])

    def colour(ms):
        x = 190 + (5000 * MS + ms * MS - start) / length * (width - 190)
        return browser.value("[...document.getElementById('canvas').getContext('2d').getImageData(%d, %d, 1, 1).data].slice(0, 3).join()" % (x, lanes[0][1] + 22))

    tap.ok(colour(10) != colour(60) == colour(80), "and drawn where they are", colour(10), colour(60))
    states = browser.value("[...document.querySelectorAll('#lanes-table tbody tr')].map((tr) => [tr.dataset.tid, ...[...tr.querySelectorAll('td')].map((td) => td.dataset.state)])")
    tap.ok(sorted(states) == [["501", "uncertain"], ["502", "uncertain"]], "threads are uncertain all the time, and no CPU has a lane", states)
    x, top = browser.value("(() => { const b = document.getElementById('canvas').getBoundingClientRect(); return [b.x, b.y]; })()")
    browser.click_at(x + 190 + 20, top + lanes[0][1] + 12)
    browser.ready()
    told = browser.value("document.getElementById('events-list').textContent")
    tap.ok("<b>order<_b>" in told and "number=" in told, "a click lists them, as text", told[:300])


def saved(tap, browser, folder, path):
    html, svg = os.path.join(folder, "saved.html"), os.path.join(folder, "saved.svg")
    run = viewer.run("view", "--save", html, "--svg", svg, path)
    with open(svg, encoding="utf-8") as text:
        tap.ok(run.returncode == 0 and text.read().count("data-lane=") == len(THREADS), "a file is saved", run.stderr)
    browser.open("file://" + html)
    tap.ok(browser.ready() and not browser.complaints and len(browser.value(LANES)) == len(THREADS), "it shows the same lanes", browser.complaints)


def in_the_terminal(tap, path):
    run = terminal.Terminal([viewer.HOLDUP, "view", "--tui", path], rows=30, columns=120, env=viewer.ENV)
    tap.ok(run.until(lambda lines: any("of thread 501" in line for line in lines), viewer.PATIENCE), "the terminal shows the lanes of events", *run.screen.text())
    tap.ok(run.screen.text()[0].startswith("No verdict"), "and says that there is no verdict", run.screen.text()[0])
    run.send("q")
    tap.ok(run.wait() == 0, "q ends it")
    run.close()


def main():
    tap = viewer.Tap()
    with tempfile.TemporaryDirectory(prefix="holdup-view.") as folder:
        path = os.path.join(folder, "ust")
        os.mkdir(path)
        write_trace(path)
        commands(tap, path)
        in_the_terminal(tap, path)
        with viewer.Server(path) as server:
            answers(tap, server)
            if viewer.chromium():
                with viewer.Browser() as browser:
                    page(tap, browser, server)
                    saved(tap, browser, folder, path)
            else:
                tap.skipped("the page", "chromium is missing (tools/setup check)")
    tap.end()


main()
