// main.js - the page: its keys, its beginning, and back and forward.

import { askCompared, askVerdict, explain, fillChain, fit, focusOf, markRow, select, stepChain, stepRow, toggleCompare } from "./answer.js";
import { enterLane, stepLane } from "./cursor.js";
import { theme } from "./draw.js";
import { onSearch, stepFound } from "./find.js";
import { askGroups, askOthers, toggleAll, toggleGroup, toggleGroups } from "./folds.js";
import { draw, dress } from "./lanes.js";
import { drawLive, fillLive, liveTold } from "./live.js";
import { around, pan, zoom } from "./model.js";
import { addMark, goTo, setMeasure, showMarks, showMeasure } from "./moves.js";
import { askFlame, events, showEvents, showSums } from "./panes.js";
import { hands, hideTip, onDown, onDrag, onUp, onWheel, showTip } from "./pointer.js";
import { byId, chosenWindow, fail, gutter, isDark, picture, pointerTime, readHash, reveal, saved, selectedRow, setState, source, view } from "./state.js";
import { listenToShare } from "./share.js";
import { duration, percent } from "./time.js";

const PING_MS = 5000, SOON_MS = 250;

const keys = {
  w: () => goTo(zoom(view.window, 0.5, pointerTime(), view.end), false),
  s: () => goTo(zoom(view.window, 2, pointerTime(), view.end), false),
  a: () => goTo(pan(view.window, -0.2, view.end), false),
  d: () => goTo(pan(view.window, 0.2, view.end), false),
  f: fit,
  0: () => goTo({ from: 0, to: view.end }, true),
  ArrowUp: () => stepRow(-1),
  ArrowDown: () => stepRow(1),
  e: () => { if (!saved) void showEvents(view.lane, chosenWindow()).then(() => reveal(byId("events"))).catch(fail); },
  j: () => stepLane(1),
  k: () => stepLane(-1),
  ",": () => stepChain(-1),
  ".": () => stepChain(1),
  c: () => { if (!saved) void toggleCompare().catch(fail); },
  o: () => { if (source.hasOthers) void toggleGroups().catch(fail); },
  u: () => void toggleAll().catch(fail),
  m: addMark,
  n: () => void stepFound(1).catch(fail),
  p: () => void stepFound(-1).catch(fail),
  "[": () => setMeasure(Math.round(pointerTime()), view.measure ? view.measure.to : view.window.to),
  "]": () => setMeasure(view.measure ? view.measure.from : view.window.from, Math.round(pointerTime())),
  "/": () => document.querySelector("input[type=search]").focus(),
  "?": () => byId("help").showModal(),
  Escape: () => {
    byId("found").hidden = byId("tip").hidden = byId("events").hidden = byId("sums").hidden = byId("flame").hidden = true;
    picture.at = picture.cursor = null;
    setMeasure(0, 0);
  },
};
Object.assign(keys, { "+": keys.w, "=": keys.w, "-": keys.s, ArrowLeft: keys.a, ArrowRight: keys.d });

function onKey(event) {
  const field = event.target.closest("input, textarea, select, dialog");
  if (field || event.ctrlKey || event.altKey || event.metaKey || !view.window) return;
  if (event.key === "Enter" && event.target.closest("#verdict tbody tr")) {
    select(Number(event.target.closest("tr").dataset.row), true);
  } else if (event.key === "Enter" && picture.cursor && !event.target.closest("button, a, summary, [tabindex='0']:not(canvas)")) {
    void enterLane().catch(fail);
  } else if (/^[1-9]$/.test(event.key) && view.groups && view.told?.groups[event.key - 1]) {
    void toggleGroup(view.told.groups[event.key - 1].name).catch(fail);
  } else if (Object.hasOwn(keys, event.key)) {
    keys[event.key]();
  } else {
    return;
  }
  event.preventDefault();
}

// While it is recorded: a click on a lane tells what is known by then, again with each picture.
function touchLive() {
  const canvas = byId("canvas"), touched = { live: null, id: null, at: null, ends: new AbortController() };
  touched.show = () => { if (touched.live && touched.id) fillLive(byId("details"), liveTold(touched.live, touched.id, touched.at)); };
  canvas.addEventListener("click", (event) => {
    const box = canvas.getBoundingClientRect(), picture = touched.live?.picture, row = picture?.rowAt(event.clientY - box.top), x = event.clientX - box.left;
    if (!row || row.group !== undefined) return;
    touched.id = row.id;
    touched.at = x >= picture.gutter ? picture.timeAt(x) : null;
    touched.show();
  }, { signal: touched.ends.signal });
  return touched;
}

async function opened() {
  const touched = saved ? null : touchLive();
  for (;;) {
    const start = await source.start();
    if (start.state !== "recording" && touched?.live) {
      byId("details").replaceChildren(); // of a picture that is gone
      touched.live = null;
    }
    if (start.state === "ready") {
      touched?.ends.abort();
      return start;
    }
    if (start.state === "failed") throw new Error(start.error);
    if (start.state === "recording") {
      const data = await source.live();
      if (data) touched.live = drawLive(byId("canvas"), [byId("lanes-table"), byId("others-table")], data, { width: byId("stage").clientWidth, gutter: gutter(), theme: theme(), dark: isDark() });
      byId("status").textContent = `Recording …${data ? ` The last ${duration(data.start.to_ns - data.start.from_ns)} are shown. Click a lane for what is known by now.` : ""}`;
      touched.show();
      await new Promise((wait) => setTimeout(wait, 500));
      continue;
    }
    const share = start.whole_ns ? ` ${percent(start.done_ns / start.whole_ns)}` : "";
    byId("status").textContent = `Building the index of the trace …${share}`;
    await new Promise((wait) => setTimeout(wait, 200));
  }
}

function listen() {
  const canvas = byId("canvas");
  addEventListener("keydown", onKey);
  addEventListener("popstate", () => void restore());
  addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { dress(); draw(); });
  byId("search").addEventListener("submit", (event) => void onSearch(event).then(() => reveal(byId("found"))).catch(fail));
  byId("help-button").addEventListener("click", keys["?"]);
  byId("verdict").addEventListener("click", (event) => {
    const tr = event.target.closest("tbody tr");
    if (tr) select(Number(tr.dataset.row), true);
  });
  byId("others").addEventListener("click", () => void toggleAll().catch(fail));
  byId("explain").addEventListener("click", () => void explain(view.of, chosenWindow()).catch(fail));
  byId("show-events").addEventListener("click", keys.e);
  byId("show-flame").hidden = !view.start.samples;
  byId("show-flame").addEventListener("click", () => void askFlame().then(() => reveal(byId("flame"))).catch(fail));
  byId("show-sums").addEventListener("click", () => void showSums().then(() => reveal(byId("sums"))).catch(fail));
  byId("events-form").addEventListener("submit", (event) => event.preventDefault());
  byId("events-form").addEventListener("change", () => void showEvents(view.lane, events.span).catch(fail));
  for (const button of document.querySelectorAll("[data-key]")) button.addEventListener("click", () => {
    view.pointer = null;
    keys[button.dataset.key]();
  });
  canvas.addEventListener("wheel", onWheel, { passive: false });
  canvas.addEventListener("pointerdown", onDown);
  canvas.addEventListener("pointermove", (event) => (hands.has(event.pointerId) ? onDrag(event) : showTip(event)));
  canvas.addEventListener("pointerup", (event) => void onUp(event).catch(fail));
  canvas.addEventListener("pointercancel", (event) => hands.delete(event.pointerId));
  canvas.addEventListener("pointerleave", () => { hideTip(); view.pointer = null; });
  listenToShare(fail);
}

// Back and forward: the hash is what is shown.
async function restore() {
  const { of, ask, compare } = view, state = readHash();
  setState("drawing");
  showMarks();
  showMeasure();
  if (state.of !== of || JSON.stringify(state.ask) !== JSON.stringify(ask)) await askVerdict();
  await askOthers();
  await askGroups();
  if (JSON.stringify(compare) !== JSON.stringify(view.compare) || state.of !== of) await askCompared();
  picture.focus = focusOf(selectedRow());
  markRow();
  fillChain(selectedRow());
  draw();
}

// While the verdict takes its time: who did most, in the window that was asked for.
async function showEarly(told, window) {
  const soon = new Promise((resolve) => setTimeout(resolve, SOON_MS, true));
  told.catch(() => {}); // who waits for it says so
  if (!await Promise.race([told.then(() => false), soon])) return;
  view.isEarly = true;
  view.window = window;
  const rows = await source.rows(window, 24);
  if (!view.isEarly || view.verdict) return;
  view.others = rows.lanes;
  dress();
  draw();
  setState("loading", "Explaining …; until then, the busiest threads are shown");
}

async function begin() {
  view.start = await opened();
  source.origin = BigInt(view.start.origin_ns);
  view.end = view.start.end_ns;
  const chosen = view.start.to_ns ? { from: view.start.from_ns, to: view.start.to_ns } : null;
  const state = readHash();
  if (!view.ask && !saved) view.ask = chosen;
  if (view.start.only_programs && !view.groups?.size) view.groups = new Set(["locks", "programs"]);
  document.body.classList.toggle("only-programs", view.start.only_programs);
  byId("status").textContent = "Explaining …";
  const told = askVerdict();
  if (!saved) await showEarly(told, state.window || chosen || { from: 0, to: view.end });
  await told;
  view.isEarly = false;
  await askOthers();
  if (view.compare) await askCompared();
  if (view.groups) void askGroups().then(draw).catch(fail);
  dress();
  if (!state.window) {
    const whole = view.verdict ? around(view.verdict.from_ns, view.verdict.to_ns, view.end) : { from: 0, to: view.end };
    view.window = chosen || whole;
  }
  const first = view.verdict && view.verdict.rows.length ? 0 : null;
  listen();
  showMarks();
  showMeasure();
  select(view.row !== null && selectedRow() ? view.row : first, false);
  if (!saved) setInterval(() => source.alive().catch(fail), PING_MS);
}

// Without script it is a table; with it rows are selected.
byId("verdict").setAttribute("role", "grid");
byId("verdict").setAttribute("aria-label", "Causes, largest first");
document.body.classList.toggle("saved", saved !== null);
document.body.classList.toggle("no-others", !source.hasOthers);
begin().catch(fail);
