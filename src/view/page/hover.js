// hover.js - the wait that the pointer rests on: who ended it, in words and as an arrow.

import { acts, endedBy } from "./model.js";
import { named, picture, source, view } from "./state.js";

const REST_MS = 120;
let known = null, timer = 0, turn = 0; // known: {id, told}, of the wait that was asked for last

function nodeOf(id, { start_ns, end_ns, woken_by: by }) {
  return by && by.kind !== "none" ? { who: { lane: id }, start_ns, end_ns, by: by.kind, waker: by.who, waker_name: by.name || "" } : null;
}

function hoverWords({ state, object }, node) {
  const is = [state, object].filter(Boolean).join(" ");
  if (!node) return is ? [is] : [];
  return [is, node.by === "unknown" ? "its end is unknown" : `ended by ${acts(node) ? named(node.waker) : endedBy(node.by, node.waker_name)}`];
}

function showHover(node) {
  if (picture.hover === node) return;
  picture.hover = node;
  picture.draw();
}

export function endHover() {
  clearTimeout(timer);
  turn++;
  known = null;
  if (picture.hover) showHover(null);
}

// tell: given the words when they are known, at once or once the pointer rests
export function hoverOver(row, at, tell) {
  if (known && known.id === row.id && at >= known.told.start_ns && at < known.told.end_ns) {
    tell(known.words);
    return;
  }
  endHover();
  if (row.tid === undefined || view.start.only_programs) return;
  const mine = turn;
  timer = setTimeout(async () => {
    const told = await source.wait(row.id, Math.max(0, Math.min(view.end - 1, at))).catch(() => null); // a tip is no answer that was asked for
    if (!told || mine !== turn) return;
    const node = nodeOf(row.id, told);
    known = { id: row.id, told, words: hoverWords(told, node) };
    showHover(node);
    tell(known.words);
  }, REST_MS);
}
