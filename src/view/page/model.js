// model.js - what is looked at: the window, what is selected, what of a verdict belongs to a cause.
// No document here: a test drives it without a browser.

export const NARROWEST = 1; // ns of a window

export function clampWindow(from, to, end) {
  let length = Math.max(NARROWEST, Math.min(end, Math.round(to - from)));
  length = Math.min(length, end);
  const start = Math.round(Math.max(0, Math.min(end - length, from)));
  return { from: start, to: start + length };
}

// Zoom by 'factor' (below one: in) around the moment 'at', which stays where it is.
export function zoom(window, factor, at, end) {
  const before = window.to - window.from, exact = before * factor;
  const length = Math.max(NARROWEST, factor > 1 ? Math.max(Math.round(exact), before + 1) : Math.min(Math.round(exact), before - 1));
  const from = Math.round(at - (at - window.from) / before * length);
  return clampWindow(from, from + length, end);
}

// The lanes of threads: those that matter; or, with the tree of processes, these and the threads of those that are
// unfolded, each below the line of its process. tree: {processes, threads: Map by tgid, open, closed}
export function laneRows(shown, tree) {
  const lane = (who, depth) => ({ id: who.lane, label: `${"  ".repeat(depth)}${who.comm || "?"}[${who.tid}]`, tid: who.tid });
  if (!tree) return shown.map((who) => lane(who, 0));
  const known = new Set(tree.processes.map((process) => process.tgid)), rows = [];
  for (const process of tree.processes) {
    const own = shown.filter((who) => who.tgid === process.tgid || process.tgid === 0 && !known.has(who.tgid));
    const open = tree.open.has(process.tgid), all = open ? tree.threads.get(process.tgid) || own : tree.closed.has(process.tgid) ? [] : own;
    const lanes = [...all, ...(open ? own.filter((who) => !all.some((one) => one.lane === who.lane)) : [])];
    rows.push({ id: `p${process.tgid}`, label: processWords(process, open || lanes.length > 0, lanes.length), process: process.tgid, open });
    rows.push(...lanes.map((who) => lane(who, Math.min(process.depth, 4) + 1)));
  }
  return rows;
}

function processWords({ tgid, comm, cgroup, depth, threads, active }, open, shown) {
  const others = threads - shown, idle = Math.min(others, threads - active);
  const rest = !others ? "" : `, ${others} other${others > 1 ? "s" : ""}${idle === others ? " idle" : idle ? `, ${idle} of them idle` : ""}`;
  return `${"  ".repeat(Math.min(depth, 4))}${open ? "▾" : "▸"} ${comm || "?"}${tgid ? `[${tgid}]` : ""}: ${threads} thread${threads > 1 ? "s" : ""}${rest}${cgroup ? `; cgroup ${cgroup}` : ""}`;
}

export function pan(window, share, end) {
  const exact = (window.to - window.from) * share, by = Math.sign(exact) * Math.max(1, Math.round(Math.abs(exact)));
  return clampWindow(window.from + by, window.to + by, end);
}

// A window in which the spans are seen with some room around them.
export function around(from, to, end) {
  const room = Math.max(10, (to - from) * 0.08);
  return clampWindow(from - room, to + room, end);
}

// The hash: from and to in ns of the trace clock, as decimal texts; row: the cause that is selected;
// of, ask: whom and which window the verdict is of; all: every busy thread has a lane.
export function toHash(state, origin) {
  const parts = [];
  const absolute = (ns) => (origin + BigInt(ns)).toString();
  if (state.window) parts.push(`from=${absolute(state.window.from)}`, `to=${absolute(state.window.to)}`);
  if (state.row !== null) parts.push(`row=${state.row}`);
  if (state.row !== null && state.step) parts.push(`step=${state.step.chain}.${state.step.index}`);
  if (state.of) parts.push(`of=${state.of}`);
  if (state.ask) parts.push(`ask=${absolute(state.ask.from)}-${absolute(state.ask.to)}`);
  if (state.all) parts.push("all=1");
  for (const name of ["open", "closed"]) if (state.all && state[name]?.size) parts.push(`${name}=${[...state[name]].join(",")}`);
  if (state.compare) parts.push(`compare=${absolute(state.compare.from)}-${absolute(state.compare.to)}`);
  if (state.groups) parts.push(`others=${[...state.groups].join(",") || "none"}`);
  if (state.measure) parts.push(`measure=${absolute(state.measure.from)}-${absolute(state.measure.to)}`);
  for (const { at, text } of state.marks || []) parts.push(`mark=${absolute(at)}-${encodeURIComponent(text)}`);
  return "#" + parts.join("&");
}

export function fromHash(hash, origin, end) {
  const state = { window: null, row: null, step: null, of: null, ask: null, all: false, open: null, closed: null, groups: null, compare: null, measure: null, marks: [] };
  const parts = hash.replace(/^#/, "").split("&").map((part) => part.split("=", 2)), values = new Map(parts);
  const digits = /^\d{1,20}$/;
  const pair = (from, to) => {
    if (!digits.test(from || "") || !digits.test(to || "")) return null;
    const a = Number(BigInt(from) - origin), b = Number(BigInt(to) - origin);
    return a < b ? clampWindow(a, b, end) : null;
  };
  state.window = pair(values.get("from"), values.get("to"));
  if (/^\d{1,6}$/.test(values.get("row") || "")) state.row = Number(values.get("row"));
  const step = /^(\d{1,4})\.(\d{1,4})$/.exec(values.get("step") || "");
  if (step && state.row !== null) state.step = { chain: Number(step[1]), index: Number(step[2]) };
  if (/^t\d{1,9}$/.test(values.get("of") || "")) state.of = values.get("of");
  state.ask = pair(...(values.get("ask") || "").split("-", 2));
  state.all = values.get("all") === "1";
  for (const name of ["open", "closed"])
    state[name] = new Set(/^\d{1,9}(,\d{1,9}){0,99}$/.test(values.get(name) || "") ? values.get(name).split(",").map(Number) : []);
  if (/^[a-z]{1,12}(,[a-z]{1,12}){0,9}$/.test(values.get("others") || "")) state.groups = new Set(values.get("others").split(",").filter((name) => name !== "none"));
  state.compare = pair(...(values.get("compare") || "").split("-", 2));
  state.measure = pair(...(values.get("measure") || "").split("-", 2));
  state.marks = parts.filter(([name]) => name === "mark").map(([, value]) => markOf(value, origin, end)).filter(Boolean).slice(0, MARKS);
  return state;
}

export const MARKS = 20, NOTE = 80; // so many, and characters of a note

// "NS-note" of the hash.
function markOf(value, origin, end) {
  const found = /^(\d{1,20})-(.*)$/.exec(value || "");
  if (!found) return null;
  const at = Number(BigInt(found[1]) - origin);
  try {
    return at >= 0 && at <= end ? { at, text: decodeURIComponent(found[2]).slice(0, NOTE) } : null;
  } catch {
    return null;
  }
}

// The verdict's waits come as a list with depths: made a tree, each with its children.
export function waitTrees(waits) {
  const trees = [], open = [];
  for (const wait of waits) {
    const node = { ...wait, children: [] };
    open.length = wait.depth;
    if (wait.depth === 0) trees.push(node);
    else if (open[wait.depth - 1]) open[wait.depth - 1].children.push(node);
    open[wait.depth] = node;
  }
  return trees;
}

// Did a thread end the wait, by what it did then? Of a timer, a disk, a packet the thread is who set it, asked, sent.
export function acts(node) {
  return Boolean(node.waker) && ["thread", "signal", "work", "ipi"].includes(node.by);
}

const ENDED_BY = { timer: "timer", disk: "disk", network: "network", ipi: "ipi" };

// The spans of such a cause are parts of waits for a thread that had no CPU: it is who ended the wait.
const OF_THE_AWAITED = ["preempted", "cpu_queue"];

// Is this the end of the chain that 'row' is? By what is known of who ended the wait, never by time alone.
function isEnd(node, row) {
  const by = ENDED_BY[row.kind];
  if (OF_THE_AWAITED.includes(row.kind)) return node.children.length === 0 && acts(node);
  if (by) return node.by === by && (!row.who || node.who.tid === row.who.tid || row.kind !== "timer");
  if (!row.who) return node.children.length === 0 && !node.waker;
  return (acts(node) && node.waker.tid === row.who.tid) || node.who.tid === row.who.tid;
}

// The parts of a tree that lead to such an end; null = none.
function leading(node, row) {
  const children = node.children.map((child) => leading(child, row)).filter(Boolean);
  return children.length || isEnd(node, row) ? { ...node, children } : null;
}

function lies(wait, spans) {
  let low = 0, high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans[middle][1] <= wait.start_ns) low = middle + 1;
    else high = middle;
  }
  return low < spans.length && spans[low][0] < wait.end_ns;
}

// The chains of a cause, longest wait first: each a tree of waits from the target's own one down.
export function chainsOf(verdict, row) {
  if (!row || row.kind === "working" || !row.spans || !verdict.told) return [];
  const spans = row.spans.filter((span) => span[3] === verdict.told.tid).sort((a, b) => a[0] - b[0]);
  return waitTrees(verdict.waits).filter((tree) => lies(tree, spans))
    .map((tree) => leading(tree, row)).filter(Boolean);
}

// One tree as a path: at each wait the longest of those below it.
export function pathOf(tree) {
  const path = [];
  for (let node = tree; node;
    node = node.children.reduce((a, b) => (a && a.end_ns - a.start_ns >= b.end_ns - b.start_ns ? a : b), null))
    path.push(node);
  return path;
}

// The step that is 'by' steps away, in the paths of several chains one after the other. step: {chain, index}; null = none yet
export function stepFrom(paths, step, by) {
  const all = paths.flatMap((path, chain) => path.map((unused, index) => ({ chain, index })));
  const at = step ? all.findIndex((one) => one.chain === step.chain && one.index === step.index) : by > 0 ? -1 : all.length;
  return all[Math.max(0, Math.min(all.length - 1, at + by))] || null;
}

export function flat(tree) {
  return [tree, ...tree.children.flatMap(flat)];
}

// How a wait ended, of what was no thread: the kind and its name, where that does not begin with the kind.
export function endedBy(by, name) {
  return name.split(" ")[0] === by ? name : `${by} ${name}`.trim();
}

// A name that fits: what is cut is the text before the number of a thread, so that threads stay told apart.
// tid: the label ends with it; fits: (text) => whether there is room for it
export function cutName(label, tid, fits) {
  if (fits(label)) return label;
  const id = tid === undefined ? "" : `[${tid}]`, name = label.slice(0, label.length - id.length);
  for (let length = Math.min(name.length, 80) - 1; length > 0; length--)
    if (fits(`${name.slice(0, length)}…${id}`)) return `${name.slice(0, length)}…${id}`;
  return id && fits(id) ? id : "";
}

// Of places in order those that are at least so far apart: marks that lie on one another say nothing.
export function apart(places, least) {
  const kept = [];
  for (const place of places) if (!kept.length || place - kept[kept.length - 1] >= least) kept.push(place);
  return kept;
}

// Of many lanes those that are asked for first: what lies between two heights. Of few ones all.
export function inSight(rows, top, bottom) {
  const seen = rows.filter((row) => row.top + row.height > top && row.top < bottom);
  return (rows.length <= MANY_LANES || !seen.length ? rows : seen).map((row) => row.id);
}

const MANY_LANES = 40;
