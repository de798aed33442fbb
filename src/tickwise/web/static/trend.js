/** How long runs took, one bar each, with the length of a slot as a line; and how late they began. */

import { html } from "./preact.js";
import { stamp, span } from "./time.js";

const [WIDE, HIGH, FOOT] = [600, 120, 22]; // of the picture; lateness stands below

export function Trend({ runs, every, open }) {
  const shown = runs.filter((run) => run.started_at && run.finished_at).map((run) => ({
    run,
    took: Date.parse(run.finished_at) - Date.parse(run.started_at),
    late: run.attempt === 1 ? Math.max(0, Date.parse(run.started_at) - Date.parse(run.due_at)) : 0,
  })).reverse();
  if (!shown.length) return html`<p class="faint">No run has ended yet.</p>`;
  const longest = Math.max(...shown.map((one) => one.took), 1);
  const latest = Math.max(...shown.map((one) => one.late), 1);
  const top = every && every < 4 * longest ? Math.max(longest, every) : longest;
  const step = WIDE / Math.max(shown.length, 30);
  const y = (took) => HIGH - (took / top) * (HIGH - 6);
  const median = shown.map((one) => one.took).sort((a, b) => a - b)[Math.floor(shown.length / 2)];
  return html`<figure class="trend"><svg viewBox=${`0 0 ${WIDE} ${HIGH + FOOT}`} preserveAspectRatio="none" role="img" aria-label=${`${shown.length} runs: half of them took up to ${span(median)}, the longest ${span(longest)}`}>
      <line class="base" x1="0" x2=${WIDE} y1=${HIGH} y2=${HIGH} />
      ${every && every <= top && html`<line class="slot-length" x1="0" x2=${WIDE} y1=${y(every)} y2=${y(every)} />`}
      ${shown.map(({ run, took, late }, place) => html`<g key=${run.id} onClick=${() => open(run)}>
        <title>${`#${run.id}, ${stamp(run.started_at)}: ${run.state}, took ${span(took)}, ${span(late)} late`}</title>
        <rect class="trend-hit" x=${place * step} y="0" width=${step} height=${HIGH + FOOT} />
        <rect class=${`trend-bar is-${run.state}`} x=${place * step + 0.5} width=${Math.max(1, step - 1)} y=${Math.min(HIGH - 2, y(took))} height=${Math.max(2, HIGH - y(took))} />
        <rect class="trend-late" x=${place * step + 0.5} width=${Math.max(1, step - 1)} y=${HIGH + 2} height=${(late / latest) * (FOOT - 4)} /></g>`)}</svg>
    <figcaption class="faint">half took up to ${span(median)}, the longest ${span(longest)}${every && every <= top ? `; the line is a slot's length, ${span(every)}` : ""}; below: how late they began, at most ${span(latest === 1 ? 0 : latest)}</figcaption></figure>`;
}
