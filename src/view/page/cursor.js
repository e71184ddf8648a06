// cursor.js - the lanes by keys alone: one of them is chosen, at the moment in the middle.

import { columnWords } from "./draw.js";
import { isLane, scrollToLane } from "./lanes.js";
import { isOther } from "./others.js";
import { otherTip, showDetails, showOther } from "./panes.js";
import { toggle, toggleGroup } from "./folds.js";
import { byId, picture, pointerTime, view } from "./state.js";
import { moment } from "./time.js";

// The next lane or the one before; what it is in is said where screen readers hear it.
export function stepLane(by) {
  const { rows } = picture, at = rows.findIndex((row) => row.id === picture.cursor);
  const row = rows[Math.max(0, Math.min(rows.length - 1, at < 0 ? (by > 0 ? 0 : rows.length - 1) : at + by))];
  if (!row) return;
  picture.cursor = row.id;
  view.pointer = null;
  scrollToLane(row.id);
  picture.draw();
  const time = Math.round(pointerTime());
  const is = isOther(row) ? otherTip(row, time) : isLane(row) ? columnWords(picture.data, picture.dataWindow, row.id, time, view.start.states) : [];
  byId("status").textContent = is.length ? `${row.label.trim()} at ${moment(time)}: ${is.join("; ")}` : row.label.trim();
}

// What a click on it would do.
export async function enterLane() {
  const row = picture.rowOf(picture.cursor), at = Math.max(0, Math.min(view.end - 1, Math.round(pointerTime())));
  if (!row) return;
  if (isOther(row)) await showOther(row, at);
  else if (row.group !== undefined) await toggleGroup(row.group);
  else if (isLane(row)) await showDetails(row, at);
  else await toggle(row);
}
