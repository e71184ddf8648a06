// draw.js - lanes and arrows on a canvas. It draws what it is given, and nothing moves by itself.

import { acts, apart, cutName, flat } from "./model.js";
import { OTHER_COLOURS, isOther, otherColumn, otherHeights, otherMost, scaleWords } from "./others.js";
import { moment, ticks } from "./time.js";

const HEAD_WIDTH = 8; // of an arrow
export const AXIS = 26, CPU_HEIGHT = 15, LANE_HEIGHT = 24, GAP = 5;

function heightOfLane(id) {
  return id[0] === "t" || id[0] === "o" ? LANE_HEIGHT : CPU_HEIGHT;
}

// Where each lane lies: [{id, label, top, height}]
export function layout(lanes) {
  let top = AXIS;
  return lanes.map((lane) => {
    const height = heightOfLane(lane.id);
    const row = { ...lane, top, height };
    top += height + GAP;
    return row;
  });
}

export function heightOf(rows) {
  const last = rows[rows.length - 1];
  return (last ? last.top + last.height : AXIS) + GAP;
}

function hatch(context, colour) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const pen = tile.getContext("2d");
  pen.strokeStyle = colour;
  pen.lineWidth = 1.6;
  pen.beginPath();
  for (const x of [-6, 0, 6]) { pen.moveTo(x, 6); pen.lineTo(x + 6, 0); }
  pen.stroke();
  return context.createPattern(tile, "repeat");
}

// Fill styles by state; '' draws nothing.
export function fills(context, states, dark) {
  return states.map((state) => {
    const colour = dark ? state.dark : state.light;
    return colour && state.hatched ? hatch(context, colour) : colour;
  });
}

export function theme() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  return { paper: colour("--paper"), ink: colour("--ink"), soft: colour("--soft"), line: colour("--line"),
    band: colour("--band"), accent: colour("--accent"), bad: colour("--bad") };
}

// A picture: {context, width, gutter, window, data, dataWindow, rows, states, fills, theme, focus}
export class Picture {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
  }

  x(ns) {
    const { from, to } = this.window;
    return this.gutter + (ns - from) / (to - from) * (this.width - this.gutter);
  }

  timeAt(x) {
    const { from, to } = this.window;
    return Math.round(from + (x - this.gutter) / (this.width - this.gutter) * (to - from));
  }

  rowAt(y) {
    return this.rows.find((row) => y >= row.top && y < row.top + row.height + GAP) || null;
  }

  rowOf(id) {
    return this.rows.find((row) => row.id === id) || null;
  }

  draw() {
    const { canvas, context } = this, ratio = window.devicePixelRatio || 1, height = heightOf(this.rows);
    canvas.width = Math.round(this.width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = height + "px";
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = this.theme.paper;
    context.fillRect(0, 0, this.width, height);
    context.font = '12px system-ui, "DejaVu Sans", sans-serif';
    context.textBaseline = "middle";
    this.drawAxis(height);
    for (const row of this.rows) {
      if (isOther(row)) this.drawOther(row);
      else this.drawLane(row);
    }
    this.drawLabels();
    if (this.focus) this.drawFocus();
    if (this.step) this.drawStep(this.step);
    if (this.hover) this.drawStep(this.hover);
    if (this.cursor) this.drawCursor();
    this.drawTicks();
    this.drawMeasure();
    this.drawMarks(height);
    this.drawNames();
    if (this.axis) this.copyAxis(ratio);
  }

  // The times stay in sight while lanes are scrolled: a copy of the upper edge lies over it.
  copyAxis(ratio) {
    const { axis, canvas } = this, height = Math.round(AXIS * ratio);
    axis.width = canvas.width;
    axis.height = height;
    axis.getContext("2d").drawImage(canvas, 0, 0, canvas.width, height, 0, 0, canvas.width, height);
  }

  // Events of the list that is open, in the lanes of their threads.
  drawTicks() {
    const { context } = this;
    context.fillStyle = this.theme.bad;
    for (const { ns, lane } of this.ticks || []) {
      const x = this.x(ns), row = lane && x >= this.gutter && x <= this.width && this.rowOf(lane);
      if (row) context.fillRect(x - 0.5, row.top + row.height - 5, 1.5, 6);
    }
  }

  // Two points and what lies between them.
  drawMeasure() {
    const { context, measure } = this;
    if (!measure) return;
    const x0 = Math.max(this.gutter, this.x(measure.from)), x1 = Math.min(this.width, Math.max(this.x(measure.to), this.x(measure.from) + 1));
    if (x1 <= x0) return;
    context.fillStyle = this.theme.accent;
    context.globalAlpha = 0.16;
    context.fillRect(x0, AXIS - 8, x1 - x0, heightOf(this.rows));
    context.globalAlpha = 1;
    context.fillRect(x0, AXIS - 8, x1 - x0, 3);
  }

  // Marks by their numbers, and the event that is selected.
  drawMarks(height) {
    const { context } = this, marks = (this.marks || []).map(({ at }, i) => [at, String(i + 1)]);
    if (this.at !== null && this.at !== undefined) marks.push([this.at, ""]);
    context.strokeStyle = context.fillStyle = this.theme.bad;
    for (const [at, text] of marks) {
      const x = Math.round(this.x(at)) + 0.5;
      if (x < this.gutter || x > this.width) continue;
      context.beginPath();
      context.moveTo(x, AXIS - 12);
      context.lineTo(x, height);
      context.stroke();
      if (text) context.fillText(text, x + 3, AXIS - 8);
    }
  }

  drawAxis(height) {
    const { context } = this, { from, to } = this.window;
    const { step, marks } = ticks(from, to, this.width - this.gutter, 110);
    context.strokeStyle = this.theme.line;
    context.fillStyle = this.theme.soft;
    context.lineWidth = 1;
    for (const mark of marks) {
      const x = Math.round(this.x(mark)) + 0.5;
      context.beginPath();
      context.moveTo(x, AXIS - 6);
      context.lineTo(x, height);
      context.stroke();
      if (x < this.width - 60) context.fillText(moment(mark, step), x + 4, AXIS / 2);
    }
  }

  // The columns, each filled from below by its shares; those alike are drawn as one.
  drawLane(row) {
    const lane = this.data && this.data.lanes.find((one) => one.id === row.id);
    if (!lane) return;
    const { width, states } = this.data, shown = this.dataWindow;
    const left = this.x(shown.from), pixels = this.x(shown.to) - left;
    let first = 0;
    for (let i = 1; i <= width; i++) {
      if (i < width && alike(lane.columns, states, first, i)) continue;
      const x0 = Math.max(this.gutter, left + first / width * pixels);
      const x1 = Math.min(this.width, left + i / width * pixels);
      if (x1 > x0) this.drawColumns(lane.columns, first * states, states, x0, x1, row);
      first = i;
    }
  }

  // A lane of others: states by their shares, a level or an amount as a step graph by its largest value.
  drawOther(row) {
    const { context } = this, lane = this.series && this.series.lanes.get(row.id);
    if (!lane) return;
    const { width } = this.series, shown = this.seriesWindow, ns = (shown.to - shown.from) / width, { kind } = row.other;
    const left = this.x(shown.from), pixels = this.x(shown.to) - left, most = otherMost(kind, this.series, row.id);
    for (let i = 0; i < width; i++) {
      const x0 = Math.max(this.gutter, left + i / width * pixels), x1 = Math.min(this.width, left + (i + 1) / width * pixels);
      if (x1 <= x0) continue;
      const column = otherColumn(this.series, row.id, i);
      let bottom = row.top + row.height;
      otherHeights(kind, column, ns, most).forEach((share, part) => {
        const height = share * row.height;
        context.fillStyle = this.otherFills[part];
        if (height > 0) context.fillRect(x0, bottom - Math.max(height, 1), x1 - x0, Math.max(height, 1));
        bottom -= height;
      });
      if (column[4]) {
        context.fillStyle = this.lostFill;
        context.fillRect(x0, row.top, x1 - x0, row.height);
      }
    }
    context.strokeStyle = this.theme.line;
    context.strokeRect(this.gutter + 0.5, row.top + row.height + 0.5, this.width - this.gutter, 0);
    context.fillStyle = this.theme.soft;
    const words = scaleWords(kind, most);
    if (words) context.fillText(words, this.width - 8 - context.measureText(words).width, row.top + 7);
  }

  drawColumns(columns, at, states, x0, x1, row) {
    let bottom = row.top + row.height;
    for (let state = 0; state < states; state++) {
      const share = columns[at + state];
      if (!share) continue;
      const height = share / 255 * row.height;
      if (this.fills[state]) {
        this.context.fillStyle = this.fills[state];
        this.context.fillRect(x0, bottom - height, x1 - x0, height);
      }
      bottom -= height;
    }
  }

  // Colours of others: the second and third one are hatched, too.
  dressOthers(dark) {
    const { context } = this, [held, contended, waited] = OTHER_COLOURS[dark ? "dark" : "light"];
    this.otherFills = [held, contended, hatch(context, waited)];
    this.lostFill = hatch(context, this.theme.bad);
  }

  drawNames() {
    const { context } = this;
    context.fillStyle = this.theme.paper;
    context.fillRect(0, AXIS, this.gutter, heightOf(this.rows));
    for (const row of this.rows) {
      const on = this.focus && this.focus.lanes.has(row.id);
      context.fillStyle = on || row.id[0] === "t" ? this.theme.ink : this.theme.soft;
      context.font = `${on ? "600 " : ""}${row.height === CPU_HEIGHT ? 11 : 12}px system-ui, "DejaVu Sans", sans-serif`;
      context.fillText(cutName(row.label, row.tid, (text) => context.measureText(text).width <= (row.process === undefined && row.group === undefined ? this.gutter - 14 : this.width - 16)), 8, row.top + row.height / 2);
    }
  }

  // The names of spans that are wide enough.
  drawLabels() {
    const { context } = this;
    context.font = '11px system-ui, "DejaVu Sans", sans-serif';
    for (const label of this.labels || []) {
      const row = this.rowOf(label.id);
      const x0 = Math.max(this.gutter, this.x(label.start_ns)), x1 = Math.min(this.width, this.x(label.end_ns));
      if (!row || x1 - x0 < 44) continue;
      const text = fitted(context, label.text, x1 - x0 - 12);
      if (!text) continue;
      const width = context.measureText(text).width + 8;
      context.fillStyle = this.theme.paper;
      context.globalAlpha = 0.82;
      context.fillRect(x0 + 2, row.top + row.height / 2 - 7, width, 14);
      context.globalAlpha = 1;
      context.fillStyle = this.theme.ink;
      context.fillText(text, x0 + 6, row.top + row.height / 2);
    }
  }

  // What is selected stands out: where it was in time, and the arrows of its chains.
  drawFocus() {
    const { context } = this;
    context.fillStyle = this.theme.paper;
    context.globalAlpha = 0.45;
    for (const row of this.rows)
      if (!this.focus.lanes.has(row.id)) context.fillRect(this.gutter, row.top, this.width - this.gutter, row.height);
    context.globalAlpha = 1;
    for (const span of this.focus.spans) this.drawSpan(span);
    this.heads = new Map(); // by where they point: places in order of x come later
    for (const tree of this.focus.chains) for (const node of flat(tree)) this.drawArrow(node);
    for (const { y, side, xs } of this.heads.values()) for (const x of apart(xs.sort((a, b) => a - b), HEAD_WIDTH + 1)) this.drawHead(x, y, side);
  }

  addHead(x, y, side) {
    const key = `${y} ${side}`;
    if (!this.heads.has(key)) this.heads.set(key, { y, side, xs: [] });
    this.heads.get(key).xs.push(x);
  }

  drawSpan({ id, from, to }) {
    const row = this.rowOf(id), { context } = this;
    const x0 = Math.max(this.gutter, this.x(from)), x1 = Math.min(this.width, Math.max(this.x(to), this.x(from) + 2));
    if (!row || x1 <= x0) return;
    context.fillStyle = this.theme.accent;
    context.fillRect(x0, row.top - 4, x1 - x0, 3);
    context.fillRect(x0, row.top + row.height + 1, x1 - x0, 3);
  }

  // One wait and its end, above all others.
  drawStep(node) {
    const row = node.who && this.rowOf(node.who.lane), { context } = this;
    const x0 = Math.max(this.gutter, this.x(node.start_ns)), x1 = Math.min(this.width, Math.max(this.x(node.end_ns), this.x(node.start_ns) + 2));
    context.strokeStyle = this.theme.accent;
    context.lineWidth = 2;
    if (row && x1 > x0) context.strokeRect(x0, row.top - 1, x1 - x0, row.height + 2);
    this.heads = new Map();
    this.drawArrow(node, this.theme.accent, 3);
    for (const { y, side, xs } of this.heads.values()) for (const x of xs) this.drawHead(x, y, side);
  }

  // The lane that keys have chosen, and the moment in the middle.
  drawCursor() {
    const row = this.rowOf(this.cursor), { context } = this, x = (this.gutter + this.width) / 2;
    if (!row) return;
    context.strokeStyle = this.theme.accent;
    context.lineWidth = 2;
    context.strokeRect(this.gutter, row.top - 2, this.width - this.gutter - 1, row.height + 3);
    context.beginPath();
    context.moveTo(x, row.top - 4);
    context.lineTo(x, row.top + row.height + 4);
    context.stroke();
  }

  // From who woke to who was woken, at the moment of it; hardware has a mark of its own.
  drawArrow(node, colour = this.theme.ink, lineWidth = 1.5) {
    const to = node.who && this.rowOf(node.who.lane), from = acts(node) && this.rowOf(node.waker.lane);
    const x = this.x(node.end_ns), { context } = this;
    if (!to || x < this.gutter - 1 || x > this.width + 1 || node.by === "none" || node.by === "unknown") return;
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = lineWidth;
    if (from && from !== to) {
      const down = to.top > from.top;
      const y0 = down ? from.top + from.height : from.top, y1 = down ? to.top : to.top + to.height;
      context.beginPath();
      context.moveTo(x, y0);
      context.lineTo(x, y1);
      context.stroke();
      this.addHead(x, y1, down ? -1 : 1);
    } else {
      this.addHead(x, to.top, -1);
    }
  }

  drawHead(x, y, side) {
    const { context } = this;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x - HEAD_WIDTH / 2, y + side * HEAD_WIDTH);
    context.lineTo(x + HEAD_WIDTH / 2, y + side * HEAD_WIDTH);
    context.closePath();
    context.fill();
  }
}

function alike(columns, states, a, b) {
  for (let state = 0; state < states; state++)
    if (columns[a * states + state] !== columns[b * states + state]) return false;
  return true;
}

function fitted(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let short = text.slice(0, 80);
  while (short.length > 1 && context.measureText(short + "…").width > width) short = short.slice(0, -1);
  return short.length > 1 ? short + "…" : "";
}

// What a column was, in words: for the tip.
export function columnWords(data, dataWindow, id, at, states) {
  const lane = data && data.lanes.find((one) => one.id === id);
  const column = Math.floor((at - dataWindow.from) / (dataWindow.to - dataWindow.from) * (data ? data.width : 0));
  if (!lane || column < 0 || column >= data.width) return [];
  const words = [];
  for (let state = 0; state < data.states; state++) {
    const share = lane.columns[column * data.states + state];
    if (share) words.push([share, share === 255 ? states[state].words : `${Math.max(1, Math.round(share / 2.55))} % ${states[state].words}`]);
  }
  return words.sort((a, b) => b[0] - a[0]).map(([, text]) => text);
}

