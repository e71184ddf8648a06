// wire.js - questions to the server, and the lanes' bytes. docs/view.md describes both.

// Bytes to lanes: [{id, sums: [ns by state], columns: Uint8Array of width * states shares of 255}]
export function decodeLanes(buffer) {
  const data = new DataView(buffer);
  if (data.byteLength < 16 || data.getUint32(0, true) !== 0x314c4c48) throw new Error("no lanes");
  const width = data.getUint32(4, true), count = data.getUint32(8, true), states = data.getUint32(12, true);
  const lanes = [];
  let at = 16;
  for (let i = 0; i < count; i++) {
    const id = String.fromCharCode(data.getUint8(at)) + data.getUint32(at + 4, true);
    const sums = [];
    at += 8;
    for (let state = 0; state < states; state++, at += 8) sums.push(Number(data.getBigUint64(at, true)));
    const runs = data.getUint32(at, true), columns = new Uint8Array(width * states);
    let column = 0;
    at += 4;
    for (let run = 0; run < runs; run++) {
      const length = data.getUint16(at, true), parts = data.getUint8(at + 2);
      at += 3;
      for (let part = 0; part < parts; part++, at += 2)
        for (let k = 0; k < length; k++)
          columns[(column + k) * states + data.getUint8(at)] = data.getUint8(at + 1);
      column += length;
    }
    lanes.push({ id, sums, columns });
  }
  return { width, states, lanes };
}

// Bytes to columns of other lanes: {width, values, lanes: Map by name of {kind, sums, columns: values of each column}}
export function decodeSeries(buffer) {
  const data = new DataView(buffer);
  if (data.byteLength < 16 || data.getUint32(0, true) !== 0x31534c48) throw new Error("no lanes");
  const width = data.getUint32(4, true), count = data.getUint32(8, true), values = data.getUint32(12, true), lanes = new Map();
  let at = 16;
  const numbers = () => Array.from({ length: values }, () => { at += 8; return Number(data.getBigUint64(at - 8, true)); });
  for (let i = 0; i < count; i++) {
    const id = `o${data.getUint32(at, true)}`, kind = data.getUint32(at + 4, true), columns = new Float64Array(width * values);
    at += 8;
    const sums = numbers(), runs = data.getUint32(at, true);
    at += 4;
    for (let run = 0, column = 0; run < runs; run++) {
      const length = data.getUint16(at, true);
      at += 2;
      const told = numbers();
      for (let k = 0; k < length; k++, column++) columns.set(told, column * values);
    }
    lanes.set(id, { kind, sums, columns });
  }
  return { width, values, lanes };
}

// The server. Times go out as decimal texts on the trace clock.
export class Server {
  hasOthers = true; // as far as is known before it is asked

  constructor() {
    this.origin = 0n;
    this.page = Math.floor(Math.random() * 1e9);
    this.running = new Map();
  }

  time(ns) {
    return (this.origin + BigInt(ns)).toString();
  }

  // A newer question of the same kind ends the older one.
  async ask(route, values, signal) {
    const query = new URLSearchParams(values).toString();
    const response = await fetch(route + (query ? "?" + query : ""), { signal, credentials: "omit" });
    if (!response.ok) {
      const error = new Error((await response.text()).trim());
      error.status = response.status;
      throw error;
    }
    return response;
  }

  async latest(route, values) {
    this.running.get(route)?.abort();
    const abort = new AbortController();
    this.running.set(route, abort);
    return this.ask(route, { page: this.page, ...values }, abort.signal);
  }

  async start() {
    return (await this.ask("start")).json();
  }

  async verdict(of, window) {
    const values = {};
    if (of) values.slot = of.slice(1);
    if (window) Object.assign(values, { from: this.time(window.from), to: this.time(window.to) });
    return (await this.ask("verdict", values)).json();
  }

  async rows(window, most) {
    return (await this.ask("rows", { from: this.time(window.from), to: this.time(window.to), most })).json();
  }

  async lanes(window, width, ids) {
    const values = { from: this.time(window.from), to: this.time(window.to), width, rows: ids.join(",") };
    return decodeLanes(await (await this.latest("lanes", values)).arrayBuffer());
  }

  // The last picture of what is being recorded; null = there is none yet, or no more.
  async live() {
    const response = await fetch("live", { credentials: "omit" });
    return response.ok ? response.json() : null;
  }

  // Which other lanes there are; the first question begins to read them.
  async others() {
    return (await this.ask("others")).json();
  }

  async series(window, width, ids) {
    const values = { from: this.time(window.from), to: this.time(window.to), width, rows: ids.join(",") };
    return decodeSeries(await (await this.latest("series", values)).arrayBuffer());
  }

  // What lies behind a part of another lane.
  async other(lane, window) {
    return (await this.latest("other", { lane, from: this.time(window.from), to: this.time(window.to) })).json();
  }

  async spans(window, ids, least) {
    const values = { from: this.time(window.from), to: this.time(window.to), rows: ids.join(","), least };
    return (await (await this.latest("spans", values)).json()).lanes;
  }

  async details(lane, at) {
    return (await this.latest("details", { lane, at: this.time(at) })).json();
  }

  // The same of a wait that the pointer rests on; no newer question ends it.
  async wait(lane, at) {
    return (await this.ask("details", { lane, at: this.time(at) })).json();
  }

  // The file that view --save writes, of a window.
  async save(of, window) {
    const values = { from: this.time(window.from), to: this.time(window.to) };
    if (of) values.slot = of.slice(1);
    return (await this.ask("save", values)).blob();
  }

  async search(text, window, ids) {
    const values = { q: text, from: this.time(window.from), to: this.time(window.to), rows: ids.join(",") };
    return (await this.latest("search", values)).json();
  }

  // A page of single events; of: {lane, filter, q, from, to, skip, most, back}, what is not given is left out.
  async events(of) {
    const values = Object.fromEntries(Object.entries(of).filter(([, value]) => value !== undefined && value !== ""));
    for (const name of ["from", "to"]) if (name in values) values[name] = this.time(values[name]);
    return (await this.ask("events", values)).json();
  }

  // How the time of a window is divided.
  async sums(of, window) {
    const values = { page: this.page, from: this.time(window.from), to: this.time(window.to) };
    if (of) values.slot = of.slice(1);
    return (await this.ask("sums", values)).json();
  }

  async processes(window) {
    return (await this.ask("processes", { from: this.time(window.from), to: this.time(window.to) })).json();
  }

  async threads(tgid, window) {
    return (await this.ask("threads", { tgid, from: this.time(window.from), to: this.time(window.to) })).json();
  }

  // The code that worked, as a tree: see flame.js.
  async flame(lane, window) {
    const values = { page: this.page, from: this.time(window.from), to: this.time(window.to) };
    if (lane) values.lane = lane;
    return (await this.ask("flame", values)).json();
  }

  // Tells the server that the page is open; rejects when there is none any more.
  async alive() {
    await this.ask("alive");
  }
}

// ns of each state, as near as columns tell.
function sharesOf(columns, states, { from, to }) {
  const sums = new Array(states).fill(0), all = columns.length / states * 255;
  columns.forEach((share, i) => { sums[i % states] += share; });
  return sums.map((sum) => Math.round(sum / all * (to - from)));
}

const LARGEST = 3; // of the values of a column: the largest level

// Other columns of a lane, out of those of the window {from, to}: each takes of those that it meets as much as it covers.
export function resampled({ columns }, drawn, values, window, width) {
  const count = columns.length / values, size = (drawn.to - drawn.from) / count, told = new Float64Array(width * values);
  for (let i = 0; i < width; i++) {
    const from = (window.from + i / width * (window.to - window.from) - drawn.from) / size, to = (window.from + (i + 1) / width * (window.to - window.from) - drawn.from) / size;
    for (let k = Math.max(0, Math.floor(from)); k < Math.min(count, to); k++) {
      const share = Math.min(k + 1, to) - Math.max(k, from);
      for (let value = 0; share > 0 && value < values; value++) {
        const one = columns[k * values + value], at = i * values + value;
        told[at] = value === LARGEST ? Math.max(told[at], one) : told[at] + one * share;
      }
    }
  }
  return told;
}

function bytesOf(base64) {
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes.buffer;
}

// What a saved file holds: one window, at the resolution in which it was drawn.
export class Saved {
  constructor(data) {
    this.data = data;
    this.origin = BigInt(data.start.origin_ns);
    this.drawn = decodeLanes(bytesOf(data.lanes));
    this.hasOthers = Boolean(data.others);
    if (data.others) this.othersDrawn = decodeSeries(bytesOf(data.series));
  }

  get window() {
    return { from: this.data.start.from_ns, to: this.data.start.to_ns };
  }

  async others() {
    return this.data.others;
  }

  async series(window, width, ids) {
    const { values, lanes } = this.othersDrawn, whole = this.window, isWhole = window.from === whole.from && window.to === whole.to;
    const told = ids.map((id) => {
      const lane = lanes.get(id), sums = isWhole ? lane.sums : [...resampled(lane, whole, values, window, 1)];
      return [id, { kind: lane.kind, sums, columns: resampled(lane, whole, values, window, width) }];
    });
    return { width, values, lanes: new Map(told) };
  }

  // Of what lies behind a part of a lane, what is in the file.
  async other(lane, window) {
    const behind = this.data.behind[lane], [...sums] = resampled(this.othersDrawn.lanes.get(lane), this.window, this.othersDrawn.values, window, 1);
    const spans = behind.spans.filter((span) => span.start_ns < window.to && (span.end_ns > window.from || span.start_ns >= window.from));
    return { ...behind, from_ns: window.from, to_ns: window.to, sums, most: sums[LARGEST], spans, more: 0, left_out: behind.more + behind.left_out };
  }

  async start() {
    return this.data.start;
  }

  async verdict() {
    return this.data.verdict;
  }

  async rows() {
    return { count: 0, lanes: this.data.threads.lanes };
  }

  // Columns of the window out of those that were saved: the nearest ones, and their shares added up.
  async lanes(window, width, ids) {
    const { from_ns: from, to_ns: to } = this.data.start, drawn = this.drawn, states = drawn.states;
    const lanes = ids.map((id) => {
      const saved = drawn.lanes.find((lane) => lane.id === id);
      const columns = new Uint8Array(width * states);
      for (let i = 0; saved && i < width; i++) {
        const at = window.from + (i + 0.5) / width * (window.to - window.from);
        const column = Math.floor((at - from) / (to - from) * drawn.width);
        if (column >= 0 && column < drawn.width)
          columns.set(saved.columns.subarray(column * states, (column + 1) * states), i * states);
      }
      return { id, sums: window.from === from && window.to === to && saved ? saved.sums : sharesOf(columns, states, window), columns };
    });
    return { width, states, lanes };
  }

  async spans() {
    return [];
  }

  async details() {
    return null;
  }

  // Of the waits that the verdict tells, in the words of details.
  async wait(lane, at) {
    const wait = (this.data.verdict.waits || []).find((one) => one.who?.lane === lane && at >= one.start_ns && at < one.end_ns);
    return wait ? { start_ns: wait.start_ns, end_ns: wait.end_ns, state: wait.in, object: wait.object, woken_by: { kind: wait.by, who: wait.waker, name: wait.waker_name } } : null;
  }

  async events() {
    return { events: [], more: false, next_ns: 0, skip: 0 };
  }

  async search(text) {
    const sought = text.toLowerCase();
    const results = this.data.threads.lanes.filter((who) => who.comm.toLowerCase().includes(sought) || String(who.tid) === sought)
      .map((who) => ({ kind: "thread", who, text: "", start_ns: this.data.start.from_ns, end_ns: this.data.start.to_ns }));
    return { results, all: true };
  }
}
