#!/usr/bin/env python3
"""What somebody sees who opens the page for the first time: the cause that the program planted is selected, and its lane in sight, on
a phone, a desk and a wall."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import viewer  # noqa: E402

# Of each program: who holds it up, by its own account (examples/NAME.c), and how.
PLANTED = {
    "futex-convoy": ("convoy-holder", "running while holding the lock"),
    "two-hogs": ("other-hog", "preempted by"),
    "tick-dodger": ("tick-dodger", "sleeping until a timer itself"),
    "idle-server": ("late-client", "sleeping until a timer"),
    "wait-child": ("sleeping-child", "sleeping until a timer"),
}
SIZES = {"a phone": (390, 844), "a desk": (1400, 900), "a wall": (3840, 2160)}
SELECTED = """(() => {
  const tr = document.querySelector('#verdict tr[aria-selected=true]'), box = tr.getBoundingClientRect(), stage = document.getElementById('stage').getBoundingClientRect();
  return {row: Number(tr.dataset.row), text: tr.cells[2].textContent, top: box.top, bottom: box.bottom, stage: stage.top, height: innerHeight,
    wide: document.documentElement.scrollWidth - innerWidth, share: tr.cells[0].textContent,
    lanes: [...document.querySelectorAll('#lanes-table tbody tr')].map((line) => [line.cells[0].textContent, stage.top + Number(line.dataset.top)])};
})()"""


def look(tap, browser, name):
    who, how = PLANTED[name]
    with viewer.trace(name) as path, viewer.Server(path) as server:
        answer = json.loads(viewer.run("why", "--json", path).stdout)
        server.opened()
        browser.open(server.url)
        for size, (width, height) in SIZES.items():
            browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
            browser.ready()
            browser.wait("innerWidth === %d && document.documentElement.dataset.state === 'ready'" % width)
            seen = browser.value(SELECTED)
            tap.ok(seen["row"] == 0 and who in seen["text"] + answer["verdict"][0]["who"]["comm"] and how in seen["text"] and seen["share"].endswith("%"),
                   "%s on %s: the planted cause is selected when the page opens" % (name, size), seen)
            tap.ok(seen["top"] >= 0 and seen["bottom"] <= seen["height"] and seen["wide"] <= 0, "it is in sight, and nothing is wider than the screen", seen)
            lane = next((top for label, top in seen["lanes"] if label.startswith(who + "[")), None)
            tap.ok(lane is not None and lane < seen["height"], "so is the lane of who it is, without a scroll", seen["lanes"], seen["height"])


def main():
    tap = viewer.Tap()
    if not viewer.chromium():
        viewer.skip_all("chromium is missing (tools/setup check)")
    with viewer.Browser() as browser:
        for name in PLANTED:
            look(tap, browser, name)
    tap.end()


main()
