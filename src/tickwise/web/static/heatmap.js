/** How many start when, as a grid: hours by minutes, or days by hours. Arrow keys move through it. */

import { html } from "./preact.js";
import { stamp, wall } from "./time.js";

const [GAP, LEFT, TOP] = [1, 76, 18]; // pixels
const TIMES = [1, 1.5, 2, 4]; // the usual load: up to each a shade, above the last one more
const GRIDS = {
  60: {
    kind: "by-minute",
    columns: 60,
    wide: 13,
    tall: 15,
    every: 5,
    column: (at) => at.minute,
    row: (at) => `${at.weekday} ${at.hour}:00`,
  },
  3600: {
    kind: "by-hour",
    columns: 24,
    wide: 30,
    tall: 26,
    every: 3,
    column: (at) => at.hour,
    row: (at) => `${at.weekday} ${at.day} ${at.month}`,
  },
};

/** The load of an ordinary step: the median of those in which anything starts. */
function usualOf(counts) {
  const some = counts.filter(Boolean).sort((a, b) => a - b);
  return some[Math.floor(some.length / 2)] ?? 1;
}

function shadeOf(count, usual) {
  if (!count) return 0;
  const place = TIMES.findIndex((times) => count <= times * usual);
  return place < 0 ? TIMES.length + 1 : place + 1;
}

/** What the shades stand for, in numbers. */
export function ShadeLegend({ counts }) {
  const usual = usualOf(counts);
  const told = [`up to ${usual}, as usual`, ...TIMES.slice(1).map((times) => `up to ${Math.round(times * usual)}`), "more"];
  return html`<p class="legend faint">${told.map((text, place) => html`<span key=${place}><i class=${`shade-mark shade-${place + 1}`} />${text}</span>`)}
    <span><i class="crowd-key" />many start at once</span></p>`;
}

/** `counts` are those of steps from `start` on; `pick(index)` is called for the one that somebody chooses. */
export function Heatmap({ start, step, counts, crowded, pick, chosen }) {
  const grid = GRIDS[step];
  const usual = usualOf(counts);
  const marked = new Set(crowded.map((one) => Math.floor((Date.parse(one.minute) - start) / (step * 1000))));
  const rows = [];
  const cells = counts.map((count, index) => {
    const instant = start + index * step * 1000;
    const at = wall(instant);
    if (rows.at(-1) !== grid.row(at)) rows.push(grid.row(at));
    return { index, count, instant, x: across(grid, Number(grid.column(at))), y: down(grid, rows.length - 1) };
  });
  const first = counts.findIndex(Boolean);
  const ways = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -grid.columns, ArrowDown: grid.columns };
  return html`<div class="heat"><svg viewBox=${`0 0 ${across(grid, grid.columns)} ${down(grid, rows.length)}`} role="group" aria-label="Starts over time" class=${grid.kind} onKeyDown=${(event) => moved(event, ways)}>
    ${Array.from({ length: grid.columns / grid.every }, (_, place) => place * grid.every).map((column) =>
      html`<text class="tick-text" x=${across(grid, column)} y=${TOP - 6}>${String(column).padStart(2, "0")}</text>`)}
    ${rows.map((row, place) => html`<text class="tick-text" x="0" y=${down(grid, place) + grid.tall - 4}>${row}</text>`)}
    ${cells.map((one) => html`<${Cell} key=${one.index} ...${one} grid=${grid} shade=${shadeOf(one.count, usual)} isCrowded=${marked.has(one.index)} pick=${pick} isFirst=${one.index === first} isChosen=${one.instant === chosen} />`)}</svg></div>`;
}

function Cell({ x, y, grid, shade, index, count, instant, isCrowded, pick, isFirst, isChosen }) {
  const rect = html`<rect class=${`heat-cell shade-${shade} ${isChosen ? "is-chosen" : ""}`} x=${x} y=${y} width=${grid.wide} height=${grid.tall} rx="2" />`;
  if (!count) return rect;
  const text = `${stamp(instant)}: ${count} ${count === 1 ? "start" : "starts"}${isCrowded ? ", many at once" : ""}`;
  const choose = (event) => {
    if (event.key && event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    pick(index);
  };
  return html`<g role="button" tabindex=${isFirst ? "0" : "-1"} aria-label=${text} data-step=${index} onClick=${choose} onKeyDown=${choose}>
    <title>${text}</title>${rect}${isCrowded && html`<path class="crowd-mark" d=${`M${x} ${y}h${grid.wide / 2}l${-grid.wide / 2} ${grid.wide / 2}z`} />`}</g>`;
}

const across = (grid, column) => LEFT + column * (grid.wide + GAP);
const down = (grid, row) => TOP + row * (grid.tall + GAP);

/** Go on in that direction to the next that is not empty. */
function moved(event, ways) {
  const way = ways[event.key];
  const cells = new Map(
    [...event.currentTarget.querySelectorAll("[data-step]")].map((node) => [Number(node.dataset.step), node]),
  );
  const last = Math.max(...cells.keys());
  let step = Number(event.target.dataset.step);
  if (!way || Number.isNaN(step)) return;
  do step += way;
  while (step >= 0 && step <= last && !cells.has(step));
  cells.get(step)?.focus();
  event.preventDefault();
}
