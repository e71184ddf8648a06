// answer.js - the verdict as a table, the cause that is selected, its chain, and a second window.

import { comparedRows, differenceWords } from "./compare.js";
import { askOthers } from "./folds.js";
import { draw, scrollToLane } from "./lanes.js";
import { acts, around, chainsOf, flat, pathOf, stepFrom } from "./model.js";
import { goTo } from "./moves.js";
import { byId, chosenWindow, keepHash, make, named, picture, selectedRow, setState, source, view } from "./state.js";
import { duration, moment, percent } from "./time.js";

function fillRow(tr, row, index) {
  const cells = [make("td"), make("td", duration(row.ns)), make("td", row.text), make("td", named(row.who))];
  const bar = make("span", null, { class: "bar", "aria-hidden": "true" });
  bar.style.width = `${row.share * 100}%`;
  cells[0].append(bar, make("span", percent(row.share), { class: "share" }));
  tr.replaceChildren(...cells);
  tr.dataset.row = index;
  tr.tabIndex = 0;
  tr.setAttribute("aria-selected", "false");
}

function fillVerdict() {
  const body = byId("verdict").tBodies[0];
  body.replaceChildren(...view.verdict.rows.map((row, index) => {
    const tr = document.createElement("tr");
    fillRow(tr, row, index);
    return tr;
  }));
  byId("headline").textContent = view.verdict.headline;
  document.title = `${named(view.verdict.target)} - holdup`;
}

export async function askVerdict() {
  view.verdict = null;
  if (!view.of && view.start.no_verdict) {
    byId("verdict").tBodies[0].replaceChildren();
    byId("headline").textContent = view.start.no_verdict;
    return;
  }
  try {
    view.verdict = await source.verdict(view.of, view.ask);
    fillVerdict();
  } catch (error) {
    if (error.status !== 404 && error.status !== 400) throw error;
    byId("verdict").tBodies[0].replaceChildren();
    byId("headline").textContent = error.message;
  }
}

function laneOfTid(tid) {
  const who = view.verdict.lanes.find((lane) => lane.tid === tid);
  return who ? who.lane : null;
}

// What stands out in the lanes while a cause is selected.
export function focusOf(row) {
  if (!row) return null;
  const chains = chainsOf(view.verdict, row), lanes = new Set();
  const spans = (row.spans || []).map(([from, to, , tid]) => ({ id: laneOfTid(tid), from, to }));
  for (const span of spans) if (span.id) lanes.add(span.id);
  if (row.who) lanes.add(row.who.lane);
  for (const tree of chains)
    for (const node of flat(tree)) {
      if (node.who) lanes.add(node.who.lane);
      if (acts(node)) lanes.add(node.waker.lane);
    }
  return { lanes, spans, chains };
}

export function markRow() {
  for (const tr of byId("verdict").tBodies[0].rows)
    tr.setAttribute("aria-selected", String(Number(tr.dataset.row) === view.row));
}

// The step that is selected, as a wait of a chain; null = none.
export function stepOf() {
  const chain = view.step && picture.focus?.chains[view.step.chain];
  return chain ? pathOf(chain)[view.step.index] || null : null;
}

export function fillChain(row) {
  const list = byId("chain"), title = byId("chain-title");
  const chains = picture.focus ? picture.focus.chains : [], chosen = chains[view.step?.chain] ? view.step.chain : 0;
  picture.step = stepOf();
  list.replaceChildren();
  title.hidden = !row;
  if (!row) return;
  title.textContent = chains.length ? `${chosen ? `Wait ${chosen + 1} of ${chains.length}` : `The longest of its waits${chains.length > 1 ? ` (${chains.length} are drawn)` : ""}`}; step along it with , and .`
    : row.kind === "working" ? "Its own work: there is no chain of waits" : "Blue bars in the lanes show when; no chain of waits leads there";
  if (!chains.length) return;
  pathOf(chains[chosen]).forEach((node, depth) => {
    const item = make("li"), button = make("button", `${duration(node.end_ns - node.start_ns)}: ${node.text}`, { type: "button" });
    item.style.marginLeft = `${depth * 14}px`;
    if (node === picture.step || view.step && chosen === view.step.chain && depth === view.step.index) button.setAttribute("aria-current", "step");
    button.addEventListener("click", () => showStep({ chain: chosen, index: depth }));
    item.append(button);
    list.append(item);
  });
}

function showStep(step) {
  view.step = step;
  fillChain(selectedRow());
  byId("chain").querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  const node = stepOf();
  goTo(around(node.start_ns, node.end_ns, view.end), true);
  if (node.who) scrollToLane(node.who.lane);
}

// One step along the chain, or back; behind the last one comes the next wait of this cause.
export function stepChain(by) {
  const step = stepFrom((picture.focus?.chains || []).map(pathOf), view.step, by);
  if (step) showStep(step);
}

export function select(index, isJump) {
  if (isJump) view.step = null;
  view.row = index;
  const row = selectedRow();
  picture.focus = focusOf(row);
  markRow();
  fillChain(row);
  if (row && isJump) showRow(row);
  keepHash(isJump);
  draw();
}

// The lanes show where in time it was, unless some of it is in sight already.
function showRow(row) {
  const spans = row.spans || [], { from, to } = view.window;
  if (!spans.length || spans.some((span) => span[1] > from && span[0] < to)) return;
  view.window = around(spans[0][0], spans[0][1], view.end);
}

export function fit() {
  const row = selectedRow(), spans = row && row.spans && row.spans.length ? row.spans : null;
  if (spans) goTo(around(Math.min(...spans.map((s) => s[0])), Math.max(...spans.map((s) => s[1])), view.end), true);
  else if (view.verdict) goTo(around(view.verdict.from_ns, view.verdict.to_ns, view.end), true);
}

export function stepRow(by) {
  if (!view.verdict || !view.verdict.rows.length) return;
  const last = view.verdict.rows.length - 1;
  select(Math.max(0, Math.min(last, (view.row ?? -1) + by)), true);
  byId("verdict").tBodies[0].rows[view.row].scrollIntoView({ block: "nearest" });
}

export async function askCompared() {
  const { compare } = view;
  byId("compare").setAttribute("aria-pressed", String(compare !== null));
  byId("answer").classList.toggle("two", compare !== null);
  byId("compared").hidden = !compare;
  if (!compare) return;
  const title = byId("compared-title"), body = byId("verdict-other").tBodies[0];
  body.replaceChildren();
  if (!view.of && view.start.no_verdict) {
    title.textContent = view.start.no_verdict;
    return;
  }
  title.textContent = "Explaining …";
  try {
    view.second = await source.verdict(view.of, compare);
  } catch (error) {
    if (error.status !== 404 && error.status !== 400) throw error;
    title.textContent = error.message;
    return;
  }
  title.textContent = `${moment(compare.from)} to ${moment(compare.to)}: ${view.second.headline}`;
  body.replaceChildren(...comparedRows(view.verdict || { rows: [] }, view.second).map((one) => {
    const tr = make("tr");
    tr.dataset.share = one.share;
    tr.append(make("td", percent(one.share)), make("td", duration(one.ns)), make("td", one.row.text), make("td", percent(one.firstShare)), make("td", differenceWords(one)));
    return tr;
  }));
}

// The window in sight becomes the second one, and the first one is that of the answer.
export async function toggleCompare() {
  view.compare = view.compare ? null : chosenWindow();
  if (view.compare && view.verdict) view.window = around(view.verdict.from_ns, view.verdict.to_ns, view.end);
  setState("drawing");
  await askCompared();
  keepHash(true);
  draw();
}

// A verdict of another thread, or of another window.
export async function explain(of, ask) {
  Object.assign(view, { of, ask, row: null, step: null });
  setState("loading", "Explaining …");
  await askVerdict();
  await askOthers();
  await askCompared();
  select(view.verdict && view.verdict.rows.length ? 0 : null, false);
  keepHash(true);
}
