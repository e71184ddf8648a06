// find.js - the search, and its results one after the other.

import { EventSearch, eventWords } from "./events.js";
import { ensureLane, isLane, scrollToLane, words } from "./lanes.js";
import { around } from "./model.js";
import { goTo } from "./moves.js";
import { showEvent } from "./panes.js";
import { byId, make, named, picture, setState, source, view } from "./state.js";
import { duration, moment } from "./time.js";

const FOUND = 20;

function showResult(result) {
  if (result.kind === "event") {
    showEvent(result.event);
    return;
  }
  if (result.kind === "thread") ensureLane(result.who);
  goTo(around(result.start_ns, Math.max(result.end_ns, result.start_ns + 1), view.end), true);
  scrollToLane(result.who.lane);
}

function resultWords(result) {
  if (result.kind === "event") return `${moment(result.event.ns)} ${result.event.comm || "?"}[${result.event.tid}] ${eventWords(result.event)}`;
  const where = result.kind === "thread" ? "" : ` at ${moment(result.start_ns)}, ${duration(result.end_ns - result.start_ns)}`;
  return `${named(result.who)} ${result.text}${where}`;
}

function chooseResult(index) {
  view.foundAt = index;
  [...byId("results").children].forEach((item, at) => {
    item.setAttribute("aria-selected", String(at === index));
    if (at === index) item.scrollIntoView({ block: "nearest" });
  });
  showResult(view.found[index]);
}

function fillResults(all) {
  byId("results").replaceChildren(...view.found.map((result, index) => {
    const item = make("li", resultWords(result), { role: "option", "aria-selected": String(index === view.foundAt), tabindex: "0" });
    item.addEventListener("click", () => chooseResult(index));
    item.addEventListener("keydown", (key) => { if (key.key === "Enter") { chooseResult(index); key.stopPropagation(); } });
    return item;
  }));
  const count = view.found.length, text = view.search.text;
  byId("found-title").textContent = count ? `${count}${all ? "" : " and more"} found for “${text}”` : `Nothing found for “${text}” in the lanes shown, and in the events from here on`;
  byId("found").hidden = false;
}

const asEvents = (found) => found.map((event) => ({ kind: "event", event }));

function lookedTo(ns) {
  byId("status").textContent = `Searching events: ${moment(ns, 1e6)} …`;
}

export async function onSearch(event) {
  event.preventDefault();
  const text = event.target.q.value.trim();
  if (!text || !view.window) return;
  const search = view.search = new EventSearch((of) => (view.search === search ? source.events(of) : Promise.reject(stale())), text, view.window.from);
  setState("drawing");
  const found = await source.search(text, { from: 0, to: view.end }, picture.rows.filter(isLane).map((row) => row.id));
  Object.assign(view, { found: found.results, foundAt: -1 });
  if (found.results.length) fillResults(false);
  view.found = [...found.results, ...asEvents(await search.later(FOUND, lookedTo))];
  fillResults(found.all && !search.more);
  setState("ready", words());
}

function stale() {
  return Object.assign(new Error("a newer search took its place"), { status: 409 });
}

// The next result, or the one before: beyond the last one events are searched on.
export async function stepFound(by) {
  const { search } = view, to = view.foundAt + by;
  if (!search) return;
  if (to < 0 || to >= view.found.length) {
    setState("drawing");
    const more = asEvents(await (by > 0 ? search.later(FOUND, lookedTo) : search.back(lookedTo)));
    if (by > 0) view.found.push(...more);
    else view.found.unshift(...more);
    fillResults(!search.more);
    setState("ready", more.length ? words() : `There is no ${by > 0 ? "later" : "earlier"} result.`);
    if (more.length) chooseResult(by > 0 ? to : 0);
    return;
  }
  chooseResult(to);
}
