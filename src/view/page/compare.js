// compare.js - two windows side by side: the causes of each, and how their shares differ. No document here.

// Rows of the second verdict, each with the share of the same cause in the first one; then those that only the first one has.
// The same cause: the same kind, call, object and name of the thread.
export function comparedRows(first, second) {
  const key = (row) => JSON.stringify([row.kind, row.class, row.what, row.object, row.who ? row.who.comm : null]);
  const sums = new Map();
  for (const row of first.rows) {
    const sum = sums.get(key(row)) || { share: 0, ns: 0, row };
    sum.share += row.share;
    sum.ns += row.ns;
    sums.set(key(row), sum);
  }
  const rows = [], at = new Map();
  for (const row of second.rows) {
    const known = at.get(key(row));
    if (known) {
      known.share += row.share;
      known.ns += row.ns;
      continue;
    }
    const before = sums.get(key(row)), one = { row, share: row.share, ns: row.ns, firstShare: before ? before.share : 0, firstNs: before ? before.ns : 0 };
    at.set(key(row), one);
    rows.push(one);
  }
  for (const [name, { share, ns, row }] of sums)
    if (!at.has(name)) rows.push({ row, share: 0, ns: 0, firstShare: share, firstNs: ns });
  return rows.sort((a, b) => Math.max(b.share, b.firstShare) - Math.max(a.share, a.firstShare));
}

// "+12 points", "only here", "only there"
export function differenceWords({ share, firstShare }) {
  const points = (share - firstShare) * 100;
  if (!firstShare) return "only here";
  if (!share) return "only in the first window";
  if (Math.abs(points) < 0.05) return "the same";
  return `${points > 0 ? "+" : "−"}${Math.abs(points) < 9.95 ? Math.abs(points).toFixed(1) : Math.round(Math.abs(points))} points`;
}
