/** How many runs will be under way at once, beside what the workers can take. */

import { Empty } from "./components.js";
import { html } from "./preact.js";
import { Axis } from "./ribbon.js";
import { shortStamp, stamp, zone } from "./time.js";

const [WIDE, HIGH] = [1000, 110]; // of the picture
const BARS = 192; // at most

/** `atOnce` are the most of each step from `start` on, in milliseconds; null if no run has ended yet. */
export function Concurrency({ start, step, atOnce, capacity }) {
  if (!atOnce) return html`<${Empty} text="No run has ended yet." advice="How many run at once is known when it is known how long they take." />`;
  const bars = busiest(atOnce, Math.ceil(atOnce.length / BARS));
  const most = Math.max(...atOnce);
  const top = Math.max(most, capacity && capacity < 4 * most ? capacity : 0, 1);
  const y = (count) => HIGH - (count / top) * (HIGH - 8);
  const wide = WIDE / bars.length;
  const at = start + atOnce.indexOf(most) * step * 1000;
  const scale = { since: start / 1000, until: start / 1000 + atOnce.length * step, step };
  return html`<figure class="trend concurrency"><div class="faint"><${Axis} scale=${scale} /></div><svg viewBox=${`0 0 ${WIDE} ${HIGH}`} preserveAspectRatio="none" role="img" aria-label=${`At most ${most} at once, first at ${stamp(at)} ${zone.get()}`}>
      <line class="base" x1="0" x2=${WIDE} y1=${HIGH} y2=${HIGH} />
      ${bars.map(({ count, place }, number) => html`<g key=${place}><title>${`${stamp(start + place * step * 1000)}: at most ${count} at once`}</title>
        <rect class="trend-hit" x=${number * wide} y="0" width=${wide} height=${HIGH} />
        <rect class=${`load-bar ${capacity && count > capacity ? "is-over" : ""}`} x=${number * wide + wide * 0.08} width=${wide * 0.84} y=${y(count)} height=${HIGH - y(count)} /></g>`)}
      ${capacity > 0 && capacity <= top && html`<line class="slot-length" x1="0" x2=${WIDE} y1=${y(capacity)} y2=${y(capacity)} />`}</svg>
    <figcaption class="faint">at most ${most.toLocaleString("en")}, first at ${shortStamp(at)} ${zone.get()}${told(most, capacity, top)}; a run counts for as long as those before it took</figcaption></figure>`;
}

function told(most, capacity, top) {
  if (capacity === null) return "";
  if (!capacity) return "; no worker is alive";
  return `; ${capacity <= top ? "the line is what " : ""}the workers take${capacity <= top ? "," : ""} ${capacity.toLocaleString("en")}${most > capacity ? ": what is above waits" : ""}`;
}

/** The highest of each so many. */
const busiest = (counts, size) => Array.from({ length: Math.ceil(counts.length / size) }, (_, number) => {
  const some = counts.slice(number * size, (number + 1) * size);
  const count = Math.max(...some);
  return { count, place: number * size + some.indexOf(count) };
});
