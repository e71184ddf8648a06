// lanes.js - the lanes of the window: asked for, drawn, and told as a table.

import { fills, layout, theme } from "./draw.js";
import { inSight, laneRows } from "./model.js";
import { isOther, otherRows, otherWords } from "./others.js";
import { byId, fail, gutter, isDark, make, named, picture, saved, setState, source, twin, view } from "./state.js";
import { duration, moment, percent } from "./time.js";

const MOST_LANES = 250, PIXELS_OF_A_NAME = 44;

function wantedLanes() {
  const lanes = [], shown = new Map(), { only_programs: onlyPrograms } = view.start;
  if (onlyPrograms) lanes.push(...otherRows(view.told, view.groups)); // nothing tells who had a CPU
  for (let cpu = onlyPrograms ? Infinity : 0; cpu < Math.min(view.start.cpus, 64); cpu++) lanes.push({ id: `c${cpu}`, label: `CPU ${cpu}`, cpu });
  for (const who of [...(view.verdict ? view.verdict.lanes : view.others), ...view.extra]) shown.set(who.lane, who);
  lanes.push(...laneRows([...shown.values()], view.all ? view : null));
  if (!onlyPrograms) lanes.push(...otherRows(view.told, view.groups));
  if (saved) return lanes.filter((lane) => isOther(lane) || lane.group !== undefined || source.drawn.lanes.some((one) => one.id === lane.id));
  let count = 0;
  return lanes.filter((lane) => !/^[ct]/.test(lane.id) || ++count <= MOST_LANES);
}

export function isLane(row) {
  return /^[ct]/.test(row.id);
}

export function ensureLane(who) {
  if (!wantedLanes().some((lane) => lane.id === who.lane)) view.extra.push(who);
}

export function scrollToLane(lane) {
  byId("stage").scrollTop = (picture.rowOf(lane)?.top || 0) - 60;
}

export function words() {
  const { start, verdict } = view, parts = [];
  if (verdict && verdict.note) parts.push(verdict.note);
  if (verdict ? verdict.lost_events : start.lost_events) parts.push(`${verdict ? verdict.lost_events : start.lost_events} events were lost${verdict ? " in this window" : ""}; where, is hatched.`);
  if (!start.complete) parts.push("The recording was cut short.");
  if (start.only_programs) parts.push("Each group of lanes shows events of programs: click a lane to list them. “sudo holdup record -- COMMAND” records the kernel's events, too.");
  if (verdict && verdict.more) parts.push(`${verdict.more} smaller causes are not shown.`);
  return parts.join(" ") || (verdict ? "" : saved ? "" : "The busiest threads are shown. Click the lane of one, then “Explain”, to see what held it up.");
}

export function dress() {
  picture.theme = theme();
  picture.fills = fills(picture.context, view.start.states, isDark());
  picture.dressOthers(isDark());
}

// Draw what is there now, moved to where it belongs; then ask for what is missing.
export function draw() {
  if (!view.window) return;
  picture.width = Math.max(200, byId("stage").clientWidth);
  picture.gutter = gutter();
  picture.rows = layout(wantedLanes());
  picture.window = view.window;
  Object.assign(picture, { measure: view.measure, marks: view.marks, ticks: byId("events").hidden ? [] : view.events.list.items });
  picture.labels = [];
  picture.draw();
  const { from, to } = view.window;
  byId("window").textContent = `${moment(from, (to - from) / 1000)} to ${moment(to, (to - from) / 1000)}: ${duration(to - from)}`;
  void refresh();
}

async function refresh() {
  const turn = ++view.drawing, window = view.window, ids = picture.rows.filter(isLane).map((row) => row.id);
  const width = Math.min(4096, Math.floor(picture.width - picture.gutter));
  if (!view.isEarly) setState("drawing");
  try {
    const { scrollTop, clientHeight } = byId("stage"), first = inSight(picture.rows.filter(isLane), scrollTop, scrollTop + clientHeight);
    let data = await source.lanes(window, width, first);
    if (turn !== view.drawing) return;
    picture.data = data;
    picture.dataWindow = window;
    if (first.length < ids.length) {
      picture.draw(); // who looks sees these; the others follow
      const others = await source.lanes(window, width, ids.filter((id) => !first.includes(id)));
      if (turn !== view.drawing) return;
      data = picture.data = { ...data, lanes: ids.map((id) => [...data.lanes, ...others.lanes].find((lane) => lane.id === id)) };
    }
    fillLanesTable(data);
    await drawOthers(window, width, turn);
    if (turn !== view.drawing) return;
    picture.draw();
    picture.labels = await namedSpans(window, ids, width);
    if (turn !== view.drawing) return;
    await drawTwin(width, ids, turn);
    if (turn !== view.drawing) return;
    picture.draw();
    if (!view.isEarly && !(view.groups && !view.told)) setState("ready", words());
  } catch (error) {
    if (turn === view.drawing) fail(error);
  }
}

// The same lanes in the other window.
async function drawTwin(width, ids, turn) {
  byId("stage-other").hidden = !view.compare;
  if (!view.compare) return;
  const data = await source.lanes(view.compare, width, ids);
  if (turn !== view.drawing) return;
  const { gutter, theme: colours, fills: styles } = picture;
  Object.assign(twin, { width: picture.width, gutter, theme: colours, fills: styles, rows: layout(wantedLanes().filter(isLane)), window: view.compare, data, dataWindow: view.compare, focus: null });
  twin.draw();
}

async function drawOthers(window, width, turn) {
  const rows = picture.rows.filter(isOther), table = byId("others-table");
  table.hidden = !rows.length;
  if (!rows.length) return;
  const data = await source.series(window, width, rows.map((row) => row.id));
  if (turn !== view.drawing) return;
  picture.series = data;
  picture.seriesWindow = window;
  table.tBodies[0].replaceChildren(...rows.map((row) => {
    const { sums } = data.lanes.get(row.id), tr = make("tr"), cell = make("td", otherWords(row, sums, window.to - window.from).join("; "));
    Object.assign(tr.dataset, { lane: row.id, top: row.top, label: row.other.label });
    Object.assign(cell.dataset, { sums: sums.join(","), note: row.other.joined_ns });
    tr.append(make("th", row.label.trim(), { scope: "row" }), cell);
    return tr;
  }));
}

async function namedSpans(window, ids, width) {
  const least = Math.round((window.to - window.from) * PIXELS_OF_A_NAME / width);
  const lanes = await source.spans(window, ids, least);
  return lanes.flatMap((spans, index) => spans.map((span) => ({
    id: ids[index], start_ns: span.start_ns, end_ns: span.end_ns, text: spanWords(span),
  })));
}

function spanWords(span) {
  if (span.state !== undefined) return [span.state, span.object].filter(Boolean).join(", ");
  return span.ran && span.ran.tid ? named(span.ran) : "";
}

function fillLanesTable(data) {
  const table = byId("lanes-table");
  const states = view.start.states.map((state, index) => index).filter((index) => data.lanes.some((lane) => lane.sums[index] > 0));
  fillLegend(states);
  const head = make("tr");
  head.append(make("th", "Lane"), ...states.map((index) => make("th", view.start.states[index].words)));
  table.tHead.replaceChildren(head);
  table.tBodies[0].replaceChildren(...data.lanes.map((lane) => {
    const row = picture.rowOf(lane.id), tr = make("tr"), whole = lane.sums.reduce((a, b) => a + b, 0);
    if (row.tid !== undefined) tr.dataset.tid = row.tid;
    else tr.dataset.cpu = row.cpu;
    tr.dataset.top = row.top;
    tr.append(make("th", row.label, { scope: "row" }), ...states.map((index) => {
      const cell = make("td", percent(whole ? lane.sums[index] / whole : 0));
      cell.dataset.state = view.start.states[index].name;
      cell.dataset.ns = lane.sums[index];
      return cell;
    }));
    return tr;
  }));
}

// Of what is in sight.
function fillLegend(states) {
  const items = states.filter((index) => picture.fills[index]).map((index) => {
    const item = make("li"), swatch = make("canvas", null, { width: 22, height: 10, "aria-hidden": "true" });
    const pen = swatch.getContext("2d");
    pen.fillStyle = picture.fills[index];
    pen.fillRect(0, 0, 22, 10);
    item.append(swatch, view.start.states[index].words);
    return item;
  });
  byId("legend").replaceChildren(...items);
}
