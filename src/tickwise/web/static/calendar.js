/** The last month by day: each day with its slots as one stack. */

import { html } from "./preact.js";
import { counted, STATES, total } from "./slots.js";
import { wall } from "./time.js";

const DAY = 86_400;
export const DAYS = 31;
const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/** The second at which a day of the shown zone begins, so many days before now. */
export function dayStart(now, back) {
  const second = Math.floor(now / 1000) - back * DAY;
  const { hour, minute, second: rest } = wall(second * 1000);
  return second - Number(hour) * 3600 - Number(minute) * 60 - Number(rest);
}

/** Counts by day of what is past, of bins that are shorter than a day. */
export function byDay({ since, step, bins }) {
  const days = new Map();
  for (const [number, counts] of bins) {
    const at = since + number * step;
    const day = dayStart(at * 1000, 0);
    const sums = days.get(day) ?? {};
    for (const [state, count] of Object.entries(counts)) if (state !== "to_come") sums[state] = (sums[state] ?? 0) + count;
    days.set(day, sums);
  }
  return days;
}

export function Calendar({ first, days, chosen, choose }) {
  const blank = WEEKDAYS.indexOf(wall(first * 1000).weekday);
  const most = Math.max(1, ...[...days.values()].map(total));
  const all = Array.from({ length: DAYS }, (_, place) => dayStart((first + place * DAY + DAY / 2) * 1000, 0));
  return html`<div class="calendar" role="group" aria-label="By day">
    ${WEEKDAYS.map((word) => html`<span class="calendar-word" key=${word} aria-hidden="true">${word}</span>`)}
    ${blank > 0 && html`<span style=${{ "grid-column": `span ${blank}` }} />`}
    ${all.map((day) => html`<${Day} key=${day} day=${day} counts=${days.get(day) ?? {}} most=${most} chosen=${chosen === day} choose=${choose} />`)}</div>`;
}

function Day({ day, counts, most, chosen, choose }) {
  const { day: number, month } = wall(day * 1000);
  const told = counted(counts) || "no slots";
  const height = total(counts) ? 35 + 65 * (total(counts) / most) : 0;
  return html`<button type="button" class="day" aria-pressed=${String(chosen)} title=${told} aria-label=${`${Number(number)} ${month}: ${told}`} onClick=${() => choose(chosen ? null : day)}>
    <span>${Number(number)}</span><span class="day-stack"><span class="day-bar" style=${{ height: `${height}%` }}>
      ${Object.keys(STATES).filter((state) => counts[state]).map((state) => html`<i key=${state} class=${`slot is-${state}`} style=${{ "flex-grow": counts[state] }} />`)}</span></span></button>`;
}
