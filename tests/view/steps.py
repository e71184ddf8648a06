#!/usr/bin/env python3
"""Single waits on the page: keys step along the chain, the pointer rests on a wait, keys alone reach a lane, and a window is kept as a file."""
import base64
import json
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import viewer  # noqa: E402

GUTTER, LANE_HEIGHT = 190, 24  # of page/draw.js
HASH = "Object.fromEntries(new URLSearchParams(location.hash.slice(1)))"
CHAIN = "[...document.querySelectorAll('#chain li button')].map((b) => [b.textContent, b.getAttribute('aria-current')])"
TOPS = "Object.fromEntries([...document.querySelectorAll('#lanes-table tbody tr')].map((tr) => [tr.dataset.tid ?? `c${tr.dataset.cpu}`, Number(tr.dataset.top)]))"
# What is downloaded is kept instead, as base64.
KEEP = """addEventListener('DOMContentLoaded', () => { HTMLAnchorElement.prototype.click = async function () {
  const bytes = new Uint8Array(await (await window.blobs.get(this.href)).arrayBuffer());
  let text = ''; for (const byte of bytes) text += String.fromCharCode(byte);
  window.kept = { name: this.download, data: btoa(text) }; }; });
window.blobs = new Map(); const make = URL.createObjectURL;
URL.createObjectURL = (blob) => { const url = make(blob); window.blobs.set(url, Promise.resolve(blob)); return url; };"""


def accent(browser, x, tops):
    """Pixels in the colour of what is selected, around a place, between two heights."""
    ink = browser.value("getComputedStyle(document.documentElement).getPropertyValue('--accent')").strip()
    rgb = ",".join(str(int(ink[at:at + 2], 16)) for at in (1, 3, 5))
    return browser.value("(() => { const c = document.getElementById('canvas').getContext('2d'); let n = 0; for (let y = %d; y < %d; y++)"
                         "for (let x = %d; x <= %d; x++) n += [...c.getImageData(x, y, 1, 1).data].slice(0, 3).join() === '%s'; return n; })()"
                         % (*tops, int(x) - 4, int(x) + 4, rgb))


def chain(tap, browser):
    before = browser.value(HASH)
    browser.key(".")
    browser.ready()
    first, steps = browser.value(HASH), browser.value(CHAIN)
    tap.ok(first["step"] == "0.0" and first["from"] != before["from"] and [mark for _, mark in steps].count("step") == 1 and steps[0][1] == "step",
           ". shows the first wait of the chain", first, steps)
    browser.key(".")
    browser.ready()
    second, steps = browser.value(HASH), browser.value(CHAIN)
    tap.ok(second["step"] in ("0.1", "1.0") and second != first and [mark for _, mark in steps].count("step") == 1, "and then the next one", second, steps)
    browser.key(",")
    browser.ready()
    tap.ok(browser.value(HASH) == first, ", leads back", browser.value(HASH))
    browser.value("location.reload()")
    browser.wait("document.readyState === 'complete'")
    browser.ready()
    tap.ok(browser.value(HASH) == first and browser.value(CHAIN)[0][1] == "step", "the step is in the hash", browser.value(CHAIN))
    browser.key("ArrowDown")
    browser.ready()
    tap.ok("step" not in browser.value(HASH), "another cause begins anew")
    browser.key("ArrowUp")
    browser.key("0")
    browser.ready()


def rest(tap, browser, server):
    """The pointer rests on a wait of the command: it says who ended it, and an arrow shows it."""
    verdict, start = json.loads(server.question("verdict")[1]), server.opened()
    told = verdict["told"]["tid"]
    wait = next(w for w in verdict["waits"] if w["depth"] == 0 and w["waker"] and w["waker"]["tid"] != told)
    tops, window = browser.value(TOPS), browser.value(HASH)
    first, length = int(window["from"]) - int(start["origin_ns"]), int(window["to"]) - int(window["from"])
    x, y, width = browser.value("(() => { const b = document.getElementById('canvas').getBoundingClientRect(); return [b.x, b.y, b.width]; })()")

    def at(ns):
        return GUTTER + (ns - first) / length * (width - GUTTER)

    between = sorted((tops[str(wait["waker"]["tid"])], tops[str(told)]))
    between = (between[0] + LANE_HEIGHT + 2, between[1] - 2)
    before = accent(browser, at(wait["end_ns"]), between)
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + at((wait["start_ns"] + wait["end_ns"]) / 2), y=y + tops[str(told)] + 10)
    name = "%s[%d]" % (wait["waker"]["comm"], wait["waker"]["tid"])
    tap.ok(browser.wait("document.getElementById('tip').textContent.includes(%s)" % json.dumps("ended by " + name)), "the pointer on a wait: who ended it",
           browser.value("document.getElementById('tip').textContent"), name)
    tap.ok(accent(browser, at(wait["end_ns"]), between) > before, "and an arrow leads from the waker", between)
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=5, y=5)
    tap.ok(browser.wait("document.getElementById('tip').hidden") and accent(browser, at(wait["end_ns"]), between) == before, "which goes with the pointer")
    browser.click_at(x + at((wait["start_ns"] + wait["end_ns"]) / 2), y + tops[str(told)] + 10)
    browser.ready()
    charged = json.loads(server.question("verdict?slot=%s&from=%d&to=%d" % (verdict["told"]["lane"][1:], wait["start_ns"] + int(start["origin_ns"]), wait["end_ns"] + int(start["origin_ns"])))[1])
    details = browser.value("document.getElementById('details').textContent")
    tap.ok(charged["rows"] and charged["rows"][0]["text"] in details.partition("charged to")[2], "a click tells what the wait was charged to", details)
    browser.key("Escape")
    browser.ready()


def keys_alone(tap, browser, path):
    tids = [tid for tid in browser.value(TOPS) if tid.isdigit()]
    cpus = len(browser.value(TOPS)) - len(tids)
    for _ in range(cpus + 1):
        browser.key("j")
    says = browser.value("document.getElementById('status').textContent")
    tap.ok(("[%s]" % browser.value("document.querySelector('#lanes-table tr[data-tid]').dataset.tid")) in says and " at +" in says, "j reaches a thread, and its state is said", says)
    browser.key("Enter")
    browser.wait("document.documentElement.dataset.state === 'drawing'", 1)
    browser.ready()
    tap.ok("from" in browser.value("document.getElementById('details').textContent") and not browser.value("document.getElementById('events').hidden"),
           "Enter tells its details", browser.value("document.getElementById('details').textContent"))
    browser.key("Escape")


def keep(tap, browser, folder):
    """The buttons: the file of the window that is shown, and the picture."""
    browser.key("w")
    browser.ready()
    window, rows = browser.value(HASH), browser.value("document.querySelectorAll('#verdict tbody tr').length")
    browser.click("#save-picture")
    tap.ok(browser.wait("window.kept") and base64.b64decode(browser.value("window.kept.data"))[:8] == b"\x89PNG\r\n\x1a\n", "the lanes are kept as a picture")
    browser.value("window.kept = null")
    browser.click("#save")
    tap.ok(browser.wait("window.kept") and browser.ready(), "a button saves what is shown")
    data = base64.b64decode(browser.value("window.kept.data"))
    path = os.path.join(folder, "saved.html")
    with open(path, "wb") as out:
        out.write(data)
    tap.ok(len(data) < 2 << 20, "in %d bytes" % len(data))
    browser.open("file://" + path)
    tap.ok(browser.ready() and browser.value(HASH)["from"] == window["from"] and browser.value(HASH)["to"] == window["to"], "the file shows that window", browser.value("location.hash"), window)
    tap.ok(0 < browser.value("document.querySelectorAll('#verdict tbody tr').length") <= rows, "and its causes")
    verdict = json.loads(browser.value("document.getElementById('data').textContent"))["verdict"]
    tap.ok(browser.value(CHAIN) and verdict["waits"], "with the chain, along which keys step")
    browser.key(".")
    browser.ready()
    tap.ok(browser.value(HASH).get("step") == "0.0", "also there", browser.value("location.hash"))


def gone(tap, browser):
    """The trace is removed while it is viewed: what needs its files is refused, all else goes on."""
    with viewer.trace("two-hogs") as path, viewer.Server(path) as server:
        server.opened()
        browser.open(server.url)
        browser.ready()
        shutil.rmtree(path)
        browser.key("o")
        tap.ok(browser.wait("document.documentElement.dataset.state === 'error'") and "cannot open" in browser.value("document.getElementById('status').textContent"),
               "a trace that is removed: other lanes are not there, and the page says why")
        rows = browser.value("document.querySelectorAll('#verdict tbody tr').length")
        browser.key("w")
        tap.ok(browser.wait("document.documentElement.dataset.state === 'ready'") and rows > 0, "and goes on", browser.value("document.documentElement.dataset.state"))


def main():
    if not viewer.chromium():
        viewer.skip_all("chromium is missing (tools/setup check)")
    tap = viewer.Tap()
    with viewer.trace("futex-convoy") as path, viewer.Browser() as browser, tempfile.TemporaryDirectory(prefix="holdup-view.") as folder:
        with viewer.Server(path) as server:
            server.opened()
            browser.open(server.url, first=KEEP)
            browser.ready()
            chain(tap, browser)
            rest(tap, browser, server)
            keys_alone(tap, browser, path)
            keep(tap, browser, folder)
            gone(tap, browser)
            tap.ok(not browser.complaints, "the browser has nothing to complain about", *browser.complaints)
    tap.end()


main()
