// live.js - lanes while recording goes on, a second or two behind: what a saved file holds, again and again.

import { Picture, columnWords, fills, layout } from "./draw.js";
import { isOther, otherColumn, otherRows, otherSpanWords, otherWords } from "./others.js";
import { duration, moment, percent } from "./time.js";
import { Saved } from "./wire.js";

// What is told of a lane of such a picture, and of a moment in it that is still in sight (null: of no moment):
// {title, lines, spans: [{ns, text}]}. live: what drawLive() gave; null: the lane is gone.
export function liveTold(live, id, at) {
  const row = live.rows.find((one) => one.id === id), { start, behind } = live.data, { from, to } = live.window;
  const named = (who) => `${who.comm || "?"}[${who.tid}]`, whole = duration(to - from), lines = [];
  if (!row) return null;
  if (isOther(row)) {
    const series = live.saved.othersDrawn, column = Math.floor((at - from) / (to - from) * series.width), told = behind?.[id];
    if (at !== null && at >= from && column < series.width)
      lines.push(`At ${moment(at, (to - from) / series.width)}: ${otherWords(row, otherColumn(series, id, column), (to - from) / series.width).join("; ")}`);
    lines.push(`In the last ${whole}: ${otherWords(row, series.lanes.get(id).sums, to - from).join("; ")}`);
    const spans = (told?.spans || []).map((span) => ({ ns: span.start_ns, text: `${moment(span.start_ns)}: ${otherSpanWords(span, named)}` }));
    const more = told ? told.more + told.left_out : 0, kind = spans.length && told.spans[0].what === "event" ? "The last events" : "The longest";
    if (spans.length) lines.push(`${kind}${more ? `; ${more} more are not shown` : ""}:`);
    return { title: row.other.label, lines, spans };
  }
  const is = at === null || at < from ? [] : columnWords(live.saved.drawn, live.window, id, at, start.states);
  if (is.length) lines.push(`At ${moment(at, (to - from) / live.saved.drawn.width)}: ${is.join("; ")}`);
  lines.push(`In the last ${whole}: ${sumWords(live.saved.drawn.lanes.find((lane) => lane.id === id), start.states).join("; ")}`,
    "Its waits, and who ended them, are told once the recording is over.");
  return { title: row.label, lines, spans: [] };
}

function sumWords(lane, states) {
  const whole = lane.sums.reduce((a, b) => a + b, 0);
  return states.map((state, at) => [lane.sums[at], state.words]).filter(([ns]) => ns > 0).sort((a, b) => b[0] - a[0]).map(([ns, words]) => `${percent(ns / whole)} ${words}`);
}

// The same in the document. box: emptied first
export function fillLive(box, told) {
  const add = (tag, text, parent = box) => {
    const element = document.createElement(tag);
    element.textContent = text;
    parent.append(element);
    return element;
  };
  box.replaceChildren();
  if (!told) return;
  add("h2", told.title);
  for (const line of told.lines) add("p", line);
  const list = add("ul", "");
  for (const { ns, text } of told.spans) add("li", text, list).dataset.ns = ns;
}

// Draw one such picture, and its tables: of lanes, and of other ones. look: {width, gutter, theme, dark}
// Returns it for liveTold(), with the canvas's picture.
export function drawLive(canvas, [table, otherTable], data, look) {
  const saved = new Saved(data), { start } = data, picture = new Picture(canvas), known = new Map(data.threads.lanes.map((who) => [who.lane, who]));
  const rows = saved.drawn.lanes.map(({ id }) => {
    const who = known.get(id);
    return who ? { id, label: `${who.comm || "?"}[${who.tid}]`, tid: who.tid } : { id, label: `CPU ${id.slice(1)}`, cpu: Number(id.slice(1)) };
  });
  const others = otherRows(data.others, data.others && new Set(data.others.groups.map((group) => group.name)));
  const window = { from: start.from_ns, to: start.to_ns };
  Object.assign(picture, { width: look.width, gutter: look.gutter, theme: look.theme, fills: fills(picture.context, start.states, look.dark), rows: layout([...rows, ...others]), window,
    data: { ...saved.drawn }, dataWindow: window, series: saved.othersDrawn, seriesWindow: window, focus: null });
  picture.dressOthers(look.dark);
  picture.draw();
  fillOthers(otherTable, picture.rows.filter(isOther), saved.othersDrawn, window);
  table.tBodies[0].replaceChildren(...saved.drawn.lanes.map((lane, index) => {
    const tr = document.createElement("tr"), row = rows[index];
    if (row.tid !== undefined) tr.dataset.tid = row.tid;
    else tr.dataset.cpu = row.cpu;
    tr.dataset.top = picture.rows[index].top;
    for (const text of [row.label, ...sumWords(lane, start.states)]) {
      const cell = document.createElement(tr.firstChild ? "td" : "th");
      cell.textContent = text;
      tr.append(cell);
    }
    return tr;
  }));
  return { data, saved, window, rows: picture.rows, picture };
}

function fillOthers(table, rows, drawn, { from, to }) {
  table.hidden = !rows.length;
  table.tBodies[0].replaceChildren(...rows.map((row) => {
    const tr = document.createElement("tr"), cells = [document.createElement("th"), document.createElement("td")];
    cells[0].textContent = row.label.trim();
    cells[1].textContent = otherWords(row, drawn.lanes.get(row.id).sums, to - from).join("; ");
    Object.assign(tr.dataset, { lane: row.id, top: row.top, label: row.other.label });
    tr.append(...cells);
    return tr;
  }));
}
