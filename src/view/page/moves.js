// moves.js - moving about, marks, and measuring between two points.

import { draw } from "./lanes.js";
import { MARKS, NOTE, clampWindow } from "./model.js";
import { byId, centred, keepHash, make, pointerTime, view } from "./state.js";
import { duration, moment } from "./time.js";

export function goTo(window, isJump) {
  view.window = clampWindow(window.from, window.to, view.end);
  keepHash(isJump);
  draw();
}

export function setMeasure(from, to) {
  view.measure = from === to ? null : { from: Math.min(from, to), to: Math.max(from, to) };
  showMeasure();
  keepHash(false);
  draw();
}

export function showMeasure() {
  const { measure } = view, box = byId("measured");
  box.hidden = !measure;
  byId("explain").textContent = measure ? "Explain the measured time" : "Explain this window";
  if (measure) box.textContent = `Measured: ${duration(measure.to - measure.from)} (${measure.to - measure.from} ns), from ${moment(measure.from)} to ${moment(measure.to)}`;
}

export function addMark() {
  if (view.marks.length === MARKS) return;
  view.marks = [...view.marks, { at: Math.round(pointerTime()), text: "" }].sort((a, b) => a.at - b.at);
  showMarks();
  keepHash(true);
  draw();
}

function markItem(mark, index) {
  const item = make("li"), go = make("button", `${index + 1}: ${moment(mark.at)}`, { type: "button" });
  const note = make("input", null, { maxlength: NOTE, placeholder: "Note", "aria-label": `Note of mark ${index + 1}` });
  const remove = make("button", "×", { type: "button", "aria-label": `Remove mark ${index + 1}` });
  note.value = mark.text;
  note.addEventListener("change", () => { mark.text = note.value; keepHash(false); });
  go.addEventListener("click", () => goTo(centred(mark.at), true));
  remove.addEventListener("click", () => {
    view.marks = view.marks.filter((other) => other !== mark);
    showMarks();
    keepHash(true);
    draw();
  });
  item.append(go, note, remove);
  return item;
}

export function showMarks() {
  byId("marks").replaceChildren(...view.marks.map(markItem));
}
