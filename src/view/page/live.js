// live.js - lanes while recording goes on, a second or two behind: what a saved file holds, again and again.

import { Picture, fills, layout } from "./draw.js";
import { isOther, otherRows, otherWords } from "./others.js";
import { percent } from "./time.js";
import { Saved } from "./wire.js";

// Draw one such picture, and its tables: of lanes, and of other ones. look: {width, gutter, theme, dark}
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
  fillOthers(otherTable, others.filter(isOther), saved.othersDrawn, window);
  table.tBodies[0].replaceChildren(...saved.drawn.lanes.map((lane, index) => {
    const tr = document.createElement("tr"), whole = lane.sums.reduce((a, b) => a + b, 0), row = rows[index];
    if (row.tid !== undefined) tr.dataset.tid = row.tid;
    else tr.dataset.cpu = row.cpu;
    for (const text of [row.label, ...start.states.map((state, at) => [lane.sums[at], state.words]).filter(([ns]) => ns > 0).sort((a, b) => b[0] - a[0])
      .map(([ns, words]) => `${percent(ns / whole)} ${words}`)]) {
      const cell = document.createElement(tr.firstChild ? "td" : "th");
      cell.textContent = text;
      tr.append(cell);
    }
    return tr;
  }));
  return start.to_ns - start.from_ns;
}

function fillOthers(table, rows, drawn, { from, to }) {
  table.hidden = !rows.length;
  table.tBodies[0].replaceChildren(...rows.map((row) => {
    const tr = document.createElement("tr"), cells = [document.createElement("th"), document.createElement("td")];
    cells[0].textContent = row.label.trim();
    cells[1].textContent = otherWords(row, drawn.lanes.get(row.id).sums, to - from).join("; ");
    Object.assign(tr.dataset, { lane: row.id, label: row.other.label });
    tr.append(...cells);
    return tr;
  }));
}
