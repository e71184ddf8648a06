// others.js - lanes that are no threads and no CPUs: locks, disks, network devices, programs, frequencies, models. They come in
// groups, and each group is folded until it is opened.

import { duration, percent } from "./time.js";

export const OTHER_COLOURS = {
  light: ["#56b4e9", "#d55e00", "#e69f00"], dark: ["#3d8fbf", "#f0803c", "#e9b44c"],
};

// The rows of the groups that are there: a heading each, and below it the lanes of those that are open.
// told: the answer of "others"; open: names of groups; null: none is shown
export function otherRows(told, open) {
  if (!told || !open) return [];
  const rows = told.groups.flatMap((group, index) => {
    const isOpen = open.has(group.name), all = group.lanes.length + group.more;
    const more = isOpen && group.more ? `, ${group.more} smaller lanes are not shown` : "";
    return [{ id: `g${group.name}`, group: group.name, open: isOpen, label: `${isOpen ? "▾" : "▸"} ${index + 1} ${group.words}: ${all}${more}` },
      ...(isOpen ? group.lanes.map((lane) => ({ id: lane.lane, label: `  ${lane.label}`, other: lane, values: group.values })) : [])];
  });
  return rows.length ? rows : [{ id: "gnone", group: "none", label: "No locks, disks, network devices or programs were recorded" }];
}

export const isOther = (row) => row.other !== undefined;

// Where a column lies, of a value that is told by column: {values: Float64Array, count: of a column}
export function otherColumn(data, lane, column) {
  return data.lanes.get(lane).columns.subarray(column * data.values, (column + 1) * data.values);
}

const LOST = 4, MOST = 3; // of the values

// What a column was, in words.
export function otherWords(row, column, ns) {
  const words = [], amount = row.values.map((name, i) => [name, column[i]]).filter(([, value]) => value);
  if (row.other.kind === "states")
    words.push(...amount.map(([name, value]) => (value >= ns ? name : `${percent(value / ns)} ${name}`)));
  else if (row.other.kind === "level")
    words.push(`${row.values[0]}: ${round(column[0] / ns)} on average, ${column[MOST]} at most`);
  else words.push(amount.length ? amount.map(([name, value]) => `${Number.isInteger(value) ? value : `about ${round(value)}`} ${name}`).join(", ") : `no ${row.values[0]}`);
  if (!words.length) words.push(row.values[0] === "held" ? "free, or not known" : "none, or not known");
  if (column[LOST]) words.push(`events were lost in ${percent(column[LOST] / ns)} of it`);
  return words;
}

function round(value) {
  return value >= 100 || Number.isInteger(value) ? String(Math.round(value)) : value.toPrecision(2);
}

// The height of each part of a column, of 1: from below. most: the largest value of the lane in sight.
export function otherHeights(kind, column, ns, most) {
  if (kind === "states") return [0, 1, 2].map((i) => (ns ? column[i] / ns : 0));
  if (!most) return [0];
  return kind === "level" ? [ns ? column[0] / ns / most : 0] : [(column[1] || column[0]) / most];
}

// The scale of a lane.
export function otherMost(kind, data, lane) {
  const { columns } = data.lanes.get(lane), step = data.values;
  let most = 0, hasBytes = false;
  for (let at = 0; at < columns.length; at += step) hasBytes ||= columns[at + 1] > 0;
  for (let at = 0; at < columns.length; at += step)
    most = Math.max(most, kind === "level" ? columns[at + MOST] : hasBytes ? columns[at + 1] : columns[at]);
  return most;
}

export function scaleWords(kind, most) {
  return most && kind !== "states" ? `max ${round(most)}` : "";
}

// A span behind a lane, as the page says it.
export function otherSpanWords(span, named) {
  if (span.what === "event") return [span.text, span.who && `by ${named(span.who)}`].filter(Boolean).join(", ");
  const who = span.who ? named(span.who) : span.text ? "" : "an unknown thread", text = [span.text, who].filter(Boolean).join(", by ");
  const held = span.holder ? `; held by ${named(span.holder)}` : "";
  return `${span.what}${span.what === "request" || span.text ? ":" : ""} ${text}, ${duration(span.end_ns - span.start_ns)}${held}`;
}
