/** Ribbons of many schedules: read page by page, and merged into one for each group. */

import { get } from "./api.js";

export const PAGE = 200; // schedules that the server gives at once
const MOST_LABELS = 4;

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

const UNLABELLED = ""; // the name of the group without the label

/** By what ribbons can be grouped: `prefix`, and `label:KEY` of the labels that most of them have. */
export function groupings(items) {
  const counts = new Map();
  for (const key of items.flatMap(({ labels }) => Object.keys(labels))) counts.set(key, (counts.get(key) ?? 0) + 1);
  const keys = [...counts].toSorted(([a, one], [b, other]) => other - one || a.localeCompare(b)).slice(0, MOST_LABELS);
  return ["prefix", ...keys.map(([key]) => `label:${key}`)];
}

/** A ribbon for each group, the worst first. By prefix: names that are alike up to the first `-`, `_`, `.`, `:` or `/`. */
export function grouped(items, by) {
  const label = by.startsWith("label:") && by.slice("label:".length);
  const nameOf = ({ name, labels }) => (label ? labels[label] ?? UNLABELLED : name.split(/[-_.:/]/, 1)[0] || name);
  const groups = Object.entries(Object.groupBy(items, nameOf)).map(merged);
  return groups.toSorted((a, b) => (a.good ?? 1) - (b.good ?? 1) || a.name.localeCompare(b.name));
}

/** The filters that show the schedules of a group one by one; null where none does. */
export function filterOf({ name }, by) {
  if (by === "prefix") return { text: name };
  return name === UNLABELLED ? null : { label: `${by.slice("label:".length)}=${name}` };
}

function merged([name, items]) {
  const bins = new Map();
  for (const [number, counts] of items.flatMap((one) => one.bins)) bins.set(number, summed([bins.get(number) ?? {}, counts]));
  const totals = summed(items.map((one) => one.totals));
  const own = summed(items.filter((one) => !one.in_shadow).map((one) => one.totals));
  return { name, schedules: items.length, totals, good: goodOf(own), bins: [...bins].sort(([a], [b]) => a - b) };
}

/** The share of decided slots that ran, as the server counts it: without schedules in shadow. */
function goodOf({ ran = 0, ran_after_retries: retried = 0, failed = 0, skipped = 0 }) {
  const decided = ran + retried + failed + skipped;
  return decided ? (ran + retried) / decided : null;
}

function summed(counts) {
  const sum = {};
  for (const one of counts) for (const [state, count] of Object.entries(one)) sum[state] = (sum[state] ?? 0) + count;
  return sum;
}
