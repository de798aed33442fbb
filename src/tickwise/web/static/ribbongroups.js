/** Ribbons of many schedules: read page by page, and merged into one for each group. */

import { get } from "./api.js";

export const PAGE = 200; // schedules that the server gives at once

/** So many schedules, the worst first; `next` is null when these are all. */
export async function readRibbons(asked, count, signal) {
  const found = new Map(); // by name: the order may change between two pages
  let [next, taken] = [null, 0];
  do {
    const page = await get("slots", { ...asked, limit: Math.min(count - taken, PAGE), after: next }, signal);
    for (const item of page.items) found.set(item.name, item);
    [next, taken] = [page.next, taken + page.items.length];
  } while (next && taken < count);
  const items = [...found.values()];
  return { items, totals: summed(items.map(({ totals }) => totals)), next };
}

/** A ribbon for all whose names begin alike, up to the first `-`, `_`, `.`, `:` or `/`; the worst group first. */
export function byPrefix(items) {
  const groups = Object.entries(Object.groupBy(items, ({ name }) => name.split(/[-_.:/]/, 1)[0] || name));
  return groups.map(merged).toSorted((a, b) => (a.good ?? 1) - (b.good ?? 1) || a.name.localeCompare(b.name));
}

function merged([name, items]) {
  const bins = new Map();
  for (const [number, counts] of items.flatMap((one) => one.bins)) bins.set(number, summed([bins.get(number) ?? {}, counts]));
  const totals = summed(items.map((one) => one.totals));
  return { name, schedules: items.length, totals, good: goodOf(totals), bins: [...bins].sort(([a], [b]) => a - b) };
}

/** The share of decided slots that ran, as the server counts it. */
function goodOf({ ran = 0, ran_after_retries: retried = 0, failed = 0, skipped = 0 }) {
  const decided = ran + retried + failed + skipped;
  return decided ? (ran + retried) / decided : null;
}

function summed(counts) {
  const sum = {};
  for (const one of counts) for (const [state, count] of Object.entries(one)) sum[state] = (sum[state] ?? 0) + count;
  return sum;
}
