// What is looked at, without a browser: windows, the hash, the waits that a cause's chains are made of.
// usage: node model.mjs      prints TAP
import assert from "node:assert";
import { comparedRows, differenceWords } from "../../src/view/page/compare.js";
import { flameBoxes } from "../../src/view/page/flame.js";
import { EventList } from "../../src/view/page/events.js";
import { decodeLanes, resampled } from "../../src/view/page/wire.js";
import { NARROWEST, apart, around, chainsOf, clampWindow, cutName, endedBy, fromHash, inSight, laneRows, pan, pathOf, stepFrom, toHash, waitTrees, zoom } from "../../src/view/page/model.js";
import { duration, moment, percent, ticks } from "../../src/view/page/time.js";

const tests = {
  "a window stays within the recording and is never empty"() {
    assert.deepEqual(clampWindow(-5e6, 1e6, 1e9), { from: 0, to: 6e6 });
    assert.deepEqual(clampWindow(1e9 - 1e6, 1e9 + 9e6, 1e9), { from: 1e9 - 1e7, to: 1e9 });
    assert.deepEqual(clampWindow(0, 1e12, 1e9), { from: 0, to: 1e9 });
    const narrow = clampWindow(500, 500, 1e9);
    assert.equal(narrow.to - narrow.from, NARROWEST);
  },
  "zooming keeps the moment under the pointer where it is"() {
    const zoomed = zoom({ from: 1e6, to: 5e6 }, 0.5, 2e6, 1e9);
    assert.deepEqual(zoomed, { from: 1500000, to: 3500000 });
    assert.deepEqual(zoom(zoomed, 2, 2e6, 1e9), { from: 1e6, to: 5e6 });
  },
  "zooming reaches a nanosecond, and leads out again"() {
    let window = { from: 0, to: 1e9 };
    for (let i = 0; i < 40; i++) window = zoom(window, 0.8, 123456789, 1e9);
    while (window.to - window.from > 1) window = zoom(window, 0.8, 123456789, 1e9);
    assert.deepEqual(window, { from: 123456789, to: 123456790 });
    assert.equal(pan(window, 0.2, 1e9).from, 123456790);
    assert.equal(zoom(window, 1.25, 123456789, 1e9).to - 123456789, 2);
  },
  "names that are cut keep the number of the thread"() {
    const room = (width) => (text) => text.length <= width;
    assert.equal(cutName("convoy-waiter[144]", 144, room(18)), "convoy-waiter[144]");
    assert.equal(cutName("convoy-waiter[144]", 144, room(12)), "convoy…[144]");
    assert.equal(cutName("convoy-waiter[144]", 144, room(6)), "[144]");
    assert.equal(cutName("Disks: 25", undefined, room(6)), "Disks…");
    assert.equal(cutName("convoy-waiter[144]", 144, room(2)), "");
  },
  "of many lanes those in sight are asked for first"() {
    const rows = Array.from({ length: 100 }, (unused, i) => ({ id: `t${i}`, top: i * 30, height: 24 }));
    assert.deepEqual(inSight(rows, 300, 400), ["t10", "t11", "t12", "t13"]);
    assert.equal(inSight(rows.slice(0, 40), 300, 400).length, 40);
    assert.equal(inSight(rows, 9000, 9100).length, 100);
  },
  "steps lead along one chain after the other, and end at the ends"() {
    const paths = [["a", "b"], ["c"]], steps = [];
    for (let step = null; steps.length < 4; steps.push(step)) step = stepFrom(paths, step, 1);
    assert.deepEqual(steps, [{ chain: 0, index: 0 }, { chain: 0, index: 1 }, { chain: 1, index: 0 }, { chain: 1, index: 0 }]);
    assert.deepEqual(stepFrom(paths, null, -1), { chain: 1, index: 0 });
    assert.deepEqual(stepFrom(paths, { chain: 1, index: 0 }, -1), { chain: 0, index: 1 });
    assert.equal(stepFrom([], null, 1), null);
  },
  "marks that would lie on one another are left out"() {
    assert.deepEqual(apart([0, 3, 8, 9, 17, 30], 9), [0, 9, 30]);
    assert.deepEqual(apart([], 9), []);
  },
  async "a list of events grows at both ends, and every event is in it once"() {
    const all = Array.from({ length: 1500 }, (unused, i) => ({ ns: Math.floor(i / 3) * 10, i }));
    const list = new EventList(async ({ from, to, skip, most, back }) => {
      const left = all.filter((event) => event.ns >= from && event.ns < (to ?? 1e9)), told = back ? left.slice(-most) : left.slice(skip, skip + most);
      const last = told[told.length - 1];
      return { events: told, more: told.length < left.length - (skip || 0), next_ns: last ? last.ns : 0,
        skip: last ? left.slice(0, left.indexOf(last) + 1).filter((event) => event.ns === last.ns && event.ns === from).length
          || told.filter((event) => event.ns === last.ns).length : 0 };
    });
    await list.open({}, 2500);
    while (!list.last) await list.later();
    while (!list.first) await list.earlier();
    assert.deepEqual(list.items.map((event) => event.i), all.map((event) => event.i));
  },
  "boxes of a flame graph lie below those that called them"() {
    const nodes = [[0, 10], [1, 6], [2, 1], [2, 3], [1, 4], [2, 4]], at = (top) => flameBoxes(nodes, top).map((box) => [box.index, box.left.toFixed(2), box.width.toFixed(2)]);
    assert.deepEqual(at(0), [[0, "0.00", "1.00"], [1, "0.00", "0.60"], [2, "0.00", "0.10"], [3, "0.10", "0.30"], [4, "0.60", "0.40"], [5, "0.60", "0.40"]]);
    assert.deepEqual(at(4), [[0, "0.00", "1.00"], [4, "0.00", "1.00"], [5, "0.00", "1.00"]]);
    assert.deepEqual(at(3), [[0, "0.00", "1.00"], [1, "0.00", "1.00"], [3, "0.00", "1.00"]]);
  },
  "threads are folded by process, but for those that matter"() {
    const who = (tid, tgid) => ({ lane: `t${tid}`, tid, tgid, comm: "a" }), shown = [who(1, 1), who(9, 9)];
    const tree = { processes: [{ tgid: 1, comm: "a", depth: 0, threads: 3, active: 1 }, { tgid: 9, comm: "b", depth: 1, threads: 1, active: 1 },
      { tgid: 20, comm: "c", cgroup: "/app.slice", depth: 0, threads: 2, active: 2 }], threads: new Map([[20, [who(20, 20), who(21, 20)]]]), open: new Set(), closed: new Set() };
    const rows = () => laneRows(shown, tree).map((row) => row.id);
    assert.deepEqual(laneRows(shown, null).map((row) => row.id), ["t1", "t9"]);
    assert.deepEqual(rows(), ["p1", "t1", "p9", "t9", "p20"]);
    assert.ok(laneRows(shown, tree)[0].label.endsWith("3 threads, 2 others idle"));
    assert.ok(laneRows(shown, tree)[4].label.endsWith("; cgroup /app.slice"));
    tree.open.add(20);
    tree.closed.add(1);
    assert.deepEqual(rows(), ["p1", "p9", "t9", "p20", "t20", "t21"]);
  },
  "two verdicts are compared cause by cause"() {
    const row = (what, share, comm) => ({ kind: "lock", class: "locks", what, object: "", who: { comm }, share, ns: share * 100 });
    const rows = comparedRows({ rows: [row("a", 0.5, "x"), row("a", 0.2, "x"), row("b", 0.3, "x")] }, { rows: [row("a", 0.6, "x"), row("c", 0.4, "y")] });
    assert.deepEqual(rows.map((one) => [one.row.what, one.share, one.firstShare, differenceWords(one)]),
      [["a", 0.6, 0.7, "−10 points"], ["c", 0.4, 0, "only here"], ["b", 0, 0.3, "only in the first window"]]);
  },
  "moving stops at the ends"() {
    assert.deepEqual(pan({ from: 0, to: 100000 }, -0.5, 1e6), { from: 0, to: 100000 });
    assert.deepEqual(pan({ from: 0, to: 100000 }, 0.5, 1e6), { from: 50000, to: 150000 });
    assert.ok(around(500000, 600000, 1e6).from < 500000);
  },
  "the hash holds the view, with times past 2^53"() {
    const origin = 9223372036854775807n, state = { window: { from: 1, to: 5001 }, row: 2, step: { chain: 1, index: 3 }, of: "t7", ask: { from: 0, to: 9000 }, all: true, open: new Set([5, 6]), closed: new Set([7]), groups: new Set(["locks", "disks"]), compare: { from: 4, to: 9 },
      measure: { from: 2, to: 3 }, marks: [{ at: 7, text: "a & b=1" }] };
    const hash = toHash(state, origin);
    assert.equal(hash, "#from=9223372036854775808&to=9223372036854780808&row=2&step=1.3&of=t7&ask=9223372036854775807-9223372036854784807&all=1&open=5,6&closed=7&compare=9223372036854775811-9223372036854775816&others=locks,disks" +
      "&measure=9223372036854775809-9223372036854775810&mark=9223372036854775814-a%20%26%20b%3D1");
    assert.deepEqual(fromHash(hash, origin, 1e6), state);
  },
  "a hash that makes no sense is no view"() {
    for (const hash of ["", "#", "#from=x&to=y", "#from=5", "#from=9&to=3", "#row=-1", "#of=<b>", "#ask=1", "#__proto__=1", "#from=1e9&to=2e9", "#row=99999999999", "#mark=x", "#mark=5-%", "#measure=7", "#others=<b>", "#compare=5"])
      assert.deepEqual(fromHash(hash, 0n, 1e9), { window: null, row: null, step: null, of: null, ask: null, all: false, open: new Set(), closed: new Set(), groups: null, compare: null, measure: null, marks: [] });
  },
  "a chain leads to who the cause is, by what is known"() {
    const who = (tid) => ({ tid, lane: `t${tid}` });
    const wait = (depth, from, to, of, by, waker) => ({ depth, start_ns: from, end_ns: to, who: who(of), by, waker: waker ? who(waker) : null });
    const verdict = {
      told: who(1),
      waits: [wait(0, 0, 100, 1, "thread", 2), wait(1, 10, 60, 2, "timer"), wait(1, 60, 70, 2, "thread", 3), wait(0, 200, 250, 1, "thread", 4)],
    };
    assert.equal(waitTrees(verdict.waits).length, 2);
    const sleeps = { kind: "timer", who: who(2), spans: [[0, 100, 50, 1]] };
    const chains = chainsOf(verdict, sleeps);
    assert.equal(chains.length, 1);
    assert.deepEqual(pathOf(chains[0]).map((node) => node.who.tid), [1, 2]);
    assert.deepEqual(chainsOf(verdict, { kind: "other_thread", who: who(4), spans: [[0, 100, 50, 1]] }), []);
    assert.equal(chainsOf(verdict, { kind: "other_thread", who: who(4), spans: [[200, 250, 50, 1]] }).length, 1);
    const [preempted] = chainsOf(verdict, { kind: "preempted", who: who(9), spans: [[0, 100, 50, 1]] });
    assert.deepEqual(preempted.children.map((node) => node.waker.tid), [3]); // who was awaited in the end, and had no CPU
    assert.deepEqual(chainsOf(verdict, { kind: "working", who: who(1), spans: [[0, 100, 50, 1]] }), []);
  },
  "lanes are decoded run by run"() {
    const bytes = [0x48, 0x4c, 0x4c, 0x31, 4, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0x74, 0, 0, 0, 9, 0, 0, 0,
      100, 0, 0, 0, 0, 0, 0, 0, 50, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 3, 0, 1, 0, 255, 1, 0, 2, 0, 55, 1, 200];
    const { width, states, lanes } = decodeLanes(new Uint8Array(bytes).buffer);
    assert.equal(width, 4);
    assert.equal(states, 2);
    assert.deepEqual(lanes[0].sums, [100, 50]);
    assert.equal(lanes[0].id, "t9");
    assert.deepEqual([...lanes[0].columns], [255, 0, 255, 0, 255, 0, 55, 200]);
    assert.throws(() => decodeLanes(new Uint8Array([1, 2, 3]).buffer));
  },
  "other lanes of a saved file are looked at in any window"() {
    const lane = { columns: Float64Array.from([10, 0, 0, 1, 0, 30, 0, 0, 3, 0]) }, drawn = { from: 100, to: 300 };
    const at = (from, to, width) => [...resampled(lane, drawn, 5, { from, to }, width)].filter((value, i) => i % 5 === 0 || i % 5 === 3);
    assert.deepEqual(at(100, 300, 2), [10, 1, 30, 3]);
    assert.deepEqual(at(100, 300, 1), [40, 3]);
    assert.deepEqual(at(150, 250, 2), [5, 1, 15, 3]);
    assert.deepEqual(at(0, 200, 2), [0, 0, 10, 1]);
    assert.deepEqual(at(400, 500, 1), [0, 0]);
  },
  "lengths and moments are read as in the text report"() {
    assert.deepEqual([90, 8200, 12300000, 1281000000, 999999, 0].map(duration), ["90 ns", "8.20 us", "12.3 ms", "1.281 s", "1.00 ms", "0 ns"]);
    assert.equal(moment(1234567890, 1), "+1.234567890 s");
    assert.equal(moment(1234567890, 1e6), "+1.235 s");
    assert.deepEqual([0, 0.0001, 0.5, 1].map(percent), ["0 %", "<0.1 %", "50 %", "100 %"]);
    const { step, marks } = ticks(0, 1e9, 1000, 110);
    assert.equal(step, 2e8);
    assert.deepEqual(marks, [0, 2e8, 4e8, 6e8, 8e8, 1e9]);
  },
};

let count = 0, failed = 0;
for (const [name, test] of Object.entries(tests)) {
  count++;
  try {
    await test();
    console.log(`ok ${count} - ${name}`);
  } catch (error) {
    failed++;
    console.log(`not ok ${count} - ${name}\n${String(error.message).replace(/^/gm, "# ")}`);
  }
}
console.log(`1..${count}`);
process.exit(failed ? 1 : 0);
