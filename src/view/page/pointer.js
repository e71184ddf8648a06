// pointer.js - hands and the wheel over the lanes.

import { explain } from "./answer.js";
import { columnWords } from "./draw.js";
import { toggle, toggleGroup } from "./folds.js";
import { endHover, hoverOver } from "./hover.js";
import { isLane } from "./lanes.js";
import { pan, zoom } from "./model.js";
import { goTo, setMeasure } from "./moves.js";
import { isOther } from "./others.js";
import { otherTip, showDetails, showOther } from "./panes.js";
import { byId, picture, saved, view } from "./state.js";
import { moment } from "./time.js";

export const hands = new Map(); // pointers that are down: id -> {x, from}
let moved = false;

function plotX(event) {
  return event.clientX - byId("canvas").getBoundingClientRect().left;
}

function plotY(event) {
  return event.clientY - byId("canvas").getBoundingClientRect().top;
}

export function onWheel(event) {
  if (event.ctrlKey || !view.window || byId("stage").scrollHeight > byId("stage").clientHeight + 1 && event.shiftKey) return;
  event.preventDefault();
  if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) goTo(pan(view.window, event.deltaX / 1000, view.end), false);
  else goTo(zoom(view.window, event.deltaY > 0 ? 1.25 : 0.8, picture.timeAt(Math.max(picture.gutter, plotX(event))), view.end), false);
}

export function onDown(event) {
  const x = plotX(event);
  hands.set(event.pointerId, { x, measured: event.shiftKey && x >= picture.gutter ? picture.timeAt(x) : null });
  moved = false;
  byId("canvas").setPointerCapture(event.pointerId);
}

// One hand moves, two zoom.
export function onDrag(event) {
  const hand = hands.get(event.pointerId), x = plotX(event);
  const others = [...hands.entries()].filter(([id]) => id !== event.pointerId);
  if (Math.abs(x - hand.x) < 3 && !moved) return;
  moved = true;
  if (hand.measured !== null) {
    setMeasure(hand.measured, Math.max(0, Math.min(view.end, picture.timeAt(x))));
  } else if (others.length) {
    const still = others[0][1].x, before = Math.max(20, Math.abs(hand.x - still)), now = Math.max(20, Math.abs(x - still));
    goTo(zoom(view.window, before / now, picture.timeAt(still), view.end), false);
  } else {
    goTo(pan(view.window, (hand.x - x) / (picture.width - picture.gutter), view.end), false);
  }
  hand.x = x;
}

function placeTip(lines, { clientX, clientY }) {
  const tip = byId("tip");
  tip.textContent = lines.join("\n");
  tip.hidden = false;
  tip.style.left = `${Math.max(4, Math.min(clientX + 14, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${Math.min(clientY + 16, innerHeight - tip.offsetHeight - 8)}px`;
}

export function hideTip() {
  byId("tip").hidden = true;
  endHover();
}

export function showTip(event) {
  const x = plotX(event), row = picture.rows && picture.rowAt(plotY(event));
  view.pointer = x >= picture.gutter ? x : null;
  if (!row || x < picture.gutter || !view.window || (!isLane(row) && !isOther(row))) {
    hideTip();
    return;
  }
  const at = picture.timeAt(x), fine = (view.window.to - view.window.from) / picture.width;
  const is = isOther(row) ? otherTip(row, at) : columnWords(picture.data, picture.dataWindow, row.id, at, view.start.states);
  const lines = [`${row.label} at ${moment(at, fine)}`, ...is];
  placeTip(lines, event);
  hoverOver(row, at, (words) => placeTip([...lines, ...words], event));
}

export async function onUp(event) {
  const row = picture.rowAt(plotY(event)), x = plotX(event);
  hands.delete(event.pointerId);
  if (moved || !row) return;
  if (row.group !== undefined) {
    await toggleGroup(row.group);
    return;
  }
  if (isOther(row)) {
    if (x >= picture.gutter) await showOther(row, Math.max(0, Math.min(view.end - 1, picture.timeAt(x))));
    return;
  }
  if (!isLane(row)) {
    await toggle(row);
    return;
  }
  if (x < picture.gutter) {
    if (row.tid !== undefined && !saved && !view.start.only_programs) await explain(row.id, view.ask);
    return;
  }
  await showDetails(row, Math.max(0, Math.min(view.end - 1, picture.timeAt(x))));
}
