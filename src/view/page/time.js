// time.js - lengths and moments as a person reads them. All times are ns since the recording began.

const UNITS = [["ns", 1], ["us", 1e3], ["ms", 1e6]];

// Three significant digits, as the text report: "90 ns", "8.20 us", "12.3 ms", "1.281 s".
export function duration(ns) {
  if (ns >= 999.5e6) return (ns / 1e9).toFixed(3) + " s";
  for (const [unit, size] of UNITS)
    if (ns < size * 999.5)
      return (size === 1 ? ns : (ns / size).toPrecision(3)) + " " + unit;
  return ns + " ns";
}

// "+1.234567890 s", with as many digits as matter when 'fine' ns can be told apart.
export function moment(ns, fine = 1) {
  const digits = Math.max(0, Math.min(9, 9 - Math.floor(Math.log10(Math.max(1, fine)))));
  return "+" + (ns / 1e9).toFixed(digits) + " s";
}

export function percent(share) {
  if (share <= 0) return "0 %";
  if (share < 0.0005) return "<0.1 %";
  return (share * 100).toFixed(1).replace(/\.0$/, "") + " %";
}

// Marks of an axis: at least 'apart' of 'width' pixels lie between two.
export function ticks(from, to, width, apart) {
  const least = (to - from) * apart / width;
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= least) || power * 10;
  const marks = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) marks.push(t);
  return { step, marks };
}
