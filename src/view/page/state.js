// state.js - what is looked at, where its answers come from, and the address that holds it. Text out of a
// trace reaches the document by textContent alone.

import { Picture } from "./draw.js";
import { fromHash, toHash } from "./model.js";
import { Saved, Server } from "./wire.js";

export const byId = (id) => document.getElementById(id);
export const saved = byId("data");
export const source = saved ? new Saved(JSON.parse(saved.textContent)) : new Server();
export const picture = new Picture(byId("canvas"));
picture.axis = byId("axis");
export const twin = new Picture(byId("canvas-other")); // the lanes of the window that is compared

export const view = {
  start: null, verdict: null, end: 0,
  window: null, isEarly: false, row: null, step: null, of: null, ask: null, all: false,
  others: [], extra: [], processes: [], threads: new Map(), open: new Set(), closed: new Set(), pointer: null, drawing: 0,
  groups: null, told: null, compare: null, second: null,
  measure: null, marks: [], lane: null, search: null, found: [], foundAt: -1, events: null,
};

export function make(tag, text, attributes = {}) {
  const element = document.createElement(tag);
  if (text !== undefined && text !== null) element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

export function setState(state, text) {
  document.documentElement.dataset.state = state;
  if (text !== undefined) byId("status").textContent = text;
}

export function fail(error) {
  if (error.name === "AbortError" || error.status === 409) return; // a newer question took its place
  setState("error", error instanceof TypeError ? "The server has stopped; the page keeps what it shows." : error.message);
}

export function named(who) {
  return who ? `${who.comm || "?"}[${who.tid}]` : "";
}

// What was asked for comes into sight, if nothing of it is.
export function reveal(box) {
  const { top, bottom } = box.getBoundingClientRect();
  if (top > innerHeight - 60 || bottom < 60) box.scrollIntoView({ block: "nearest" });
}

export function keepHash(isJump) {
  const hash = toHash(view, source.origin);
  if (hash === location.hash) return;
  if (isJump) history.pushState(null, "", hash);
  else history.replaceState(null, "", hash);
}

export function readHash() {
  const state = fromHash(location.hash, source.origin, view.end);
  Object.assign(view, { row: state.row, step: state.step, of: state.of, ask: state.ask, all: state.all, open: state.open, closed: state.closed, groups: source.hasOthers ? state.groups || (saved ? new Set() : null) : null, compare: saved ? null : state.compare, measure: state.measure, marks: state.marks });
  if (state.window) view.window = state.window;
  return state;
}

export function isDark() {
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

export function gutter() {
  return innerWidth < 640 ? 96 : 190;
}

export function selectedRow() {
  return view.verdict && view.row !== null ? view.verdict.rows[view.row] || null : null;
}

export function chosenWindow() {
  return view.measure || view.window;
}

// The window as long as it is, with the moment in its middle.
export function centred(at) {
  const half = Math.round((view.window.to - view.window.from) / 2);
  return { from: at - half, to: at - half + view.window.to - view.window.from };
}

export function pointerTime() {
  const middle = (view.window.from + view.window.to) / 2;
  return view.pointer === null ? middle : picture.timeAt(view.pointer);
}
