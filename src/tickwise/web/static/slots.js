/** What becomes of slots, in words and in order; and the windows of time in which ribbons show them. */

import { clock, stamp, wall } from "./time.js";

/** From the bottom of a stack to its top. */
export const STATES = {
  ran: "ran",
  ran_after_retries: "ran after retries",
  running: "running",
  waiting: "not decided",
  skipped: "skipped",
  failed: "failed",
  to_come: "to come",
};
const WORST = ["failed", "waiting", "skipped", "running", "ran_after_retries", "ran", "to_come"];
const [MINUTE, HOUR, DAY] = [60, 3600, 86_400];
const STEPS = [1, 2, 5, 10, 15, 20, 30].map((count) => count * MINUTE).concat([1, 2, 3, 6, 12].map((count) => count * HOUR));
const MOST_BINS = 100;

/** Ranges that people choose: seconds of a bin, bins back, bins ahead. */
export const RANGES = {
  "1": { word: "1 h", told: "the last hour", step: MINUTE, back: 60, ahead: 12 },
  "6": { word: "6 h", told: "the last 6 hours", step: 5 * MINUTE, back: 72, ahead: 12 },
  "24": { word: "24 h", told: "the last 24 hours", step: 20 * MINUTE, back: 72, ahead: 9 },
  "168": { word: "7 d", told: "the last 7 days", step: 2 * HOUR, back: 84, ahead: 6 },
  "720": { word: "30 d", told: "the last 30 days", step: 12 * HOUR, back: 60, ahead: 2 },
};

/** Bins that stand still while time goes on: they begin at whole steps. `coarse` halves their number. */
export function windowOf(hours, now, coarse = false) {
  const range = RANGES[hours] ?? RANGES["1"];
  const by = coarse ? 2 : 1;
  const step = range.step * by;
  const bins = Math.floor((range.back + range.ahead) / by);
  const since = Math.floor(now / 1000 / step) * step - Math.floor(range.back / by - 1) * step;
  return { since, until: since + bins * step, bins, step };
}

/** Bins for any stretch of seconds, about as many as a ribbon can show. */
export function scaleOf(from, to) {
  const step = STEPS.find((one) => (to - from) / one <= MOST_BINS) ?? DAY;
  const since = Math.floor(from / step) * step;
  const bins = Math.max(Math.ceil((to - since) / step), Math.ceil(HOUR / step));
  return { since, until: since + bins * step, bins, step };
}

/** Milliseconds between two slots, where they are always the same. */
export function paceOf({ definition }) {
  const found = /^(\d+(?:\.\d+)?)(s|m|h|d)$/.exec(definition.schedule?.every ?? "");
  return found ? Number(found[1]) * { s: 1, m: MINUTE, h: HOUR, d: DAY }[found[2]] * 1000 : undefined;
}

export const slotClass = ({ state, late }) => `slot is-${state}${late ? " is-late" : ""}`;

export const slotWords = ({ state, late }) => STATES[state] + (late ? ", missed its deadline" : "");

export const worst = (states) => WORST.find((state) => states.includes(state)) ?? "to_come";

export const worstSlot = (slots) => slots.find((one) => one.state === worst(slots.map(({ state }) => state)));

/** `3 ran, 1 skipped`; in the order of the stack. */
export const counted = (counts) =>
  Object.keys(STATES).filter((state) => counts[state]).map((state) => `${counts[state].toLocaleString("en")} ${STATES[state]}`).join(", ");

export const total = (counts) => Object.values(counts ?? {}).reduce((sum, count) => sum + count, 0);

/** `14:05 – 14:06` for people, with the day where a bin is longer than minutes. */
export function binTime(since, step, number) {
  const [from, until] = [since + number * step, since + (number + 1) * step].map((second) => second * 1000);
  if (step < HOUR) return `${clock(from)} – ${clock(until)}`;
  return `${stamp(from).slice(0, -3)} – ${clock(until)}`;
}

/** Instants worth a mark: whole hours, or midnights, far enough from each other. */
export function marks({ since, until, step }) {
  const most = 9;
  const span = until - since;
  const every = [5 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, DAY, 5 * DAY].find((one) => span / one <= most) ?? 7 * DAY;
  const found = [];
  for (let at = since; at < until; at += Math.min(step, every)) {
    const { hour, minute, day, month } = wall(at * 1000);
    const second = Number(hour) * HOUR + Number(minute) * MINUTE;
    const isMark = every < DAY ? second % every === 0 : second === 0 && (every === DAY || Number(day) % (every / DAY) === 1);
    if (isMark) found.push({ at, text: second === 0 ? `${Number(day)} ${month}` : `${hour}:${minute}` });
  }
  return found;
}
