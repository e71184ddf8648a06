// folds.js - which lanes there are: the other threads by process, and the groups of other lanes.

import { draw } from "./lanes.js";
import { byId, fail, keepHash, make, saved, setState, source, view } from "./state.js";
import { percent } from "./time.js";

// Which others there are: they are read when somebody asks for the first time.
export async function askGroups() {
  while (view.groups && !view.told) {
    const told = await source.others();
    if (told.state === "failed") {
      view.groups = null; // what there is stays usable
      showGroups();
      throw new Error(told.error);
    }
    if (told.state === "ready") view.told = told;
    else setState("drawing", `Reading the events of the trace …${told.whole_ns ? ` ${percent(told.done_ns / told.whole_ns)}` : ""}`);
    if (!view.told) await new Promise((wait) => setTimeout(wait, 200));
  }
  showGroups();
}

function showGroups() {
  const box = byId("groups"), groups = view.groups && view.told ? view.told.groups : [];
  byId("more-lanes").setAttribute("aria-pressed", String(view.groups !== null));
  box.hidden = !groups.length;
  box.replaceChildren(...groups.map((group, index) => {
    const button = make("button", `${index + 1} ${group.words}`, { type: "button", "aria-pressed": String(view.groups.has(group.name)), "data-group": group.name });
    button.addEventListener("click", () => void toggleGroup(group.name).catch(fail));
    return button;
  }));
}

export async function toggleGroup(name) {
  if (!view.told || !view.groups || !view.told.groups.some((group) => group.name === name)) return;
  if (!view.groups.delete(name)) view.groups.add(name);
  showGroups();
  keepHash(true);
  draw();
}

export async function toggleGroups() {
  view.groups = view.groups ? null : new Set();
  setState("drawing");
  await askGroups();
  keepHash(true);
  draw();
  if (view.groups) byId("stage").scrollTop = byId("stage").scrollHeight;
}

function showOthers(count) {
  const button = byId("others"), shown = view.verdict ? view.verdict.lanes.length : view.others.length;
  button.hidden = saved !== null || count <= shown;
  button.setAttribute("aria-pressed", String(view.all));
  button.textContent = view.all ? "Fold the others" : `${count - shown} other threads`;
}

// Of the whole recording, so that no lane comes or goes while one moves.
export async function askOthers() {
  const whole = { from: 0, to: view.end }, rows = await source.rows(whole, view.verdict ? 1 : 24);
  view.others = view.verdict ? [] : rows.lanes;
  showOthers(rows.count);
  if (!view.all || saved) return;
  if (!view.processes.length) view.processes = (await source.processes(whole)).processes;
  for (const tgid of view.open)
    if (!view.threads.has(tgid)) view.threads.set(tgid, (await source.threads(tgid, whole)).lanes);
}

// Fold or unfold a process.
export async function toggle(row) {
  const shut = !row.open && !view.closed.has(row.process) && view.open.size + view.closed.size < 100;
  if (row.open) {
    view.open.delete(row.process);
    view.closed.add(row.process);
  } else if (shut) {
    view.open.add(row.process);
  } else {
    view.closed.delete(row.process);
  }
  setState("drawing");
  await askOthers();
  keepHash(true);
  draw();
}

export async function toggleAll() {
  if (byId("others").hidden) return;
  view.all = !view.all;
  setState("drawing");
  await askOthers();
  keepHash(true);
  draw();
}
