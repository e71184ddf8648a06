// panes.js - what is shown below the lanes: events, sums, the flame graph, details.

import { explain } from "./answer.js";
import { showFlame } from "./flame.js";
import { draw, ensureLane, scrollToLane } from "./lanes.js";
import { EventTable } from "./list.js";
import { around, clampWindow } from "./model.js";
import { goTo } from "./moves.js";
import { otherColumn, otherSpanWords, otherWords } from "./others.js";
import { byId, centred, chosenWindow, fail, make, named, picture, reveal, saved, setState, source, view } from "./state.js";
import { duration, moment, percent } from "./time.js";

export const events = view.events = new EventTable(byId("events-list"), (of) => source.events(of), showEvent, fail);

export async function showEvents(lane, span) {
  const form = byId("events-form"), of = { lane: lane && form.lane.checked ? lane : undefined, filter: form.filter.value.trim() };
  view.lane = lane;
  byId("events").hidden = false;
  setState("drawing");
  try {
    await events.open(of, span);
    picture.ticks = events.list.items;
    picture.draw();
    const row = of.lane && picture.rowOf(of.lane);
    byId("events-title").textContent = events.list.items.length ? `Events${row ? ` of ${row.label}` : ""} from ${moment(span.from)} on` : "No such event from here on";
  } catch (error) {
    if (error.status !== 400 && error.status !== 404) throw error;
    byId("events-title").textContent = error.message;
  }
  setState("ready");
}

// An event in the lanes: its time is marked, its thread has a lane.
export function showEvent(event) {
  picture.at = event.ns;
  if (event.lane) ensureLane({ lane: event.lane, tid: event.tid, tgid: event.tgid, comm: event.comm });
  const { from, to } = view.window;
  if (event.ns < from || event.ns >= to) goTo(centred(event.ns), true);
  else draw();
  if (event.lane) scrollToLane(event.lane);
}

export async function showSums() {
  const window = chosenWindow(), box = byId("sums"), table = make("table");
  setState("drawing");
  try {
    const sums = await source.sums(view.lane || view.of, window), whole = sums.to_ns - sums.from_ns;
    for (const line of sums.lines) {
      const tr = make("tr"), name = make("td", line.text);
      name.style.paddingLeft = `${line.depth * 14 + 4}px`;
      tr.append(name, make("td", duration(line.ns)), make("td", percent(whole ? line.ns / whole : 0)), make("td", `${line.count}`));
      tr.dataset.ns = line.ns;
      table.append(tr);
    }
    box.replaceChildren(make("h2", `${named(sums.who)}, ${duration(whole)} from ${moment(sums.from_ns)}: time, share, times`), table);
  } catch (error) {
    if (error.status !== 400 && error.status !== 404) throw error;
    box.replaceChildren(make("p", error.message));
  }
  box.hidden = false;
  setState("ready");
}

export async function askFlame() {
  const window = chosenWindow(), title = byId("flame-title");
  setState("drawing");
  byId("flame").hidden = false;
  try {
    const told = await source.flame(view.lane && view.lane[0] === "t" ? view.lane : view.of, window), whole = told.nodes[0][1];
    const of = picture.rowOf(view.lane || view.of || "");
    const words = ([, count, name, module]) => `${name || "all"}${module ? ` (${module})` : ""}: ${count} samples, ${percent(whole ? count / whole : 0)}`;
    title.textContent = `${whole} samples of ${of ? of.label : "all threads"} at work in ${duration(window.to - window.from)} from ${moment(window.from)}`
      + (told.left_out ? `; ${told.left_out} further samples were not at work, or this is unknown` : "") + (told.cut ? "; the smallest are not shown" : "");
    showFlame(byId("flame-tree"), told.nodes, 0, words);
  } catch (error) {
    if (error.status !== 400 && error.status !== 404) throw error;
    title.textContent = error.message;
    byId("flame-tree").replaceChildren();
  }
  setState("ready");
}

export function otherTip(row, at) {
  const { series, seriesWindow: shown } = picture, column = Math.floor((at - shown?.from) / (shown?.to - shown?.from) * series?.width);
  if (!series?.lanes.has(row.id) || column < 0 || column >= series.width) return [];
  return otherWords(row, otherColumn(series, row.id, column), (shown.to - shown.from) / series.width);
}

// What lies behind the part of a lane that is under the pointer.
export async function showOther(row, at) {
  setState("drawing");
  const half = Math.max(1, Math.round((view.window.to - view.window.from) / (picture.width - picture.gutter))), list = make("ul"), box = byId("details");
  const part = clampWindow(at - half, at + half, view.end), told = await source.other(row.id, part);
  box.replaceChildren(make("h2", row.other.label), make("p", `${moment(told.from_ns)}, for ${duration(part.to - part.from)}: `
    + otherWords(row, [...told.sums, 0, 0, 0].slice(0, 3).concat(told.most, 0), part.to - part.from).join("; ")), list);
  for (const span of told.spans) {
    const item = make("li"), button = make("button", `${moment(span.start_ns)}: ${otherSpanWords(span, named)}`, { type: "button" });
    button.addEventListener("click", () => {
      for (const who of [span.who, span.holder]) if (who?.lane) ensureLane(who);
      goTo(around(span.start_ns, span.end_ns, view.end), true);
      if (span.who?.lane) scrollToLane(span.who.lane);
    });
    item.append(button);
    list.append(item);
  }
  const more = told.more + told.left_out;
  if (more) box.append(make("p", `${told.more ? `${told.more} more are not shown. ` : ""}${told.left_out ? `${told.left_out} shorter spans of this lane were not kept.` : ""}`));
  reveal(box);
  if (row.other.kind === "amount" && row.values[0] !== "samples" && !saved) await showEvents(null, part);
  setState("ready");
}

const CHARGED = 3; // causes that are told of one wait

function detail(list, term, text) {
  if (text) list.append(make("dt", term), make("dd", text));
}

export async function showDetails(row, at) {
  if (saved) return;
  setState("drawing");
  const told = await source.details(row.id, at), list = make("dl"), box = byId("details");
  box.replaceChildren(make("h2", row.label), list);
  detail(list, "from", `${moment(told.start_ns)}, for ${duration(told.end_ns - told.start_ns)}`);
  detail(list, "state", told.state !== undefined ? `${told.wib}: ${told.state}` : told.ran && told.ran.tid ? `ran ${named(told.ran)}` : "idle, or not known");
  detail(list, "object", told.object);
  if (told.woken_by && told.woken_by.kind !== "none") {
    detail(list, "ended by", [told.woken_by.kind, named(told.woken_by.who), told.woken_by.name].filter(Boolean).join(" "));
    detail(list, "which was in", told.woken_by.state);
  }
  detail(list, "kernel stack", told.stack);
  if (told.queue_of_cpu !== undefined) detail(list, "queue of", `CPU ${told.queue_of_cpu}`);
  const asked = row.tid !== undefined && ["blocked", "interrupted"].includes(told.wib) ? chargedTo(row, told, list) : null;
  if (row.tid !== undefined && !view.start.only_programs) box.append(explainButton(row));
  reveal(box);
  await showEvents(row.id, { from: told.start_ns, to: told.end_ns });
  if (asked && view.start && list.isConnected) setState("drawing");
  await asked;
  setState("ready");
}

// What the time of a wait is charged to: the answer for this thread, then.
async function chargedTo(row, { start_ns: from, end_ns: to }, list) {
  try {
    const { rows } = await source.verdict(row.id, { from, to });
    for (const [index, cause] of rows.slice(0, CHARGED).entries()) detail(list, index ? "" : "charged to", `${percent(cause.share)} ${cause.text}`);
    if (rows.length > CHARGED) detail(list, "", `${rows.length - CHARGED} smaller causes`);
  } catch (error) {
    if (error.status !== 400 && error.status !== 404) throw error;
  }
}

function explainButton(row) {
  const button = make("button", `Explain ${row.label}`, { type: "button" });
  button.addEventListener("click", () => explain(row.id, null));
  return button;
}
