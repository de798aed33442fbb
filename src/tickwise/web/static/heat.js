/** How many start when, as a grid: hours by minutes, or days by hours. Arrow keys move through it. */

import { h, svg } from "./dom.js";
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
export function shadeLegend(counts) {
  const usual = usualOf(counts);
  const told = [`up to ${usual}, as usual`, ...TIMES.slice(1).map((times) => `up to ${Math.round(times * usual)}`), "more"];
  const parts = told.map((text, place) => h("span", {}, h("i", { class: `shade-mark shade-${place + 1}` }), text));
  return h("p", { class: "legend faint" }, parts, h("span", {}, h("i", { class: "herd-key" }), "a herd begins"));
}

/** `counts` are those of steps from `start` on; `pick(index)` is called for the one that somebody chooses. */
export function heat({ start, step, counts, herds, pick }) {
  const grid = GRIDS[step];
  const usual = usualOf(counts);
  const marked = new Set(herds.map((herd) => Math.floor((Date.parse(herd.minute) - start) / (step * 1000))));
  const rows = [];
  const cells = counts.map((count, index) => {
    const instant = start + index * step * 1000;
    const at = wall(instant);
    if (rows.at(-1) !== grid.row(at)) rows.push(grid.row(at));
    const [x, y] = [across(grid, Number(grid.column(at))), down(grid, rows.length - 1)];
    const rect = cell(grid, x, y, shadeOf(count, usual));
    return count ? choosable(rect, {
      index,
      count,
      instant,
      herd: marked.has(index) && corner(x, y, grid),
      pick,
    }) : rect;
  });
  const viewBox = `0 0 ${across(grid, grid.columns)} ${down(grid, rows.length)}`;
  const move = (event) => moved(event, {
    ArrowLeft: -1,
    ArrowRight: 1,
    ArrowUp: -grid.columns,
    ArrowDown: grid.columns,
  });
  cells.find((node) => node.dataset.step)?.setAttribute("tabindex", "0");
  return h("div", { class: "heat" },
    svg(
      "svg",
      { viewBox, role: "group", "aria-label": "Starts over time", class: grid.kind, on: { keydown: move } },
      heads(grid),
      rows.map((row, place) => svg("text", { class: "tick-text", x: 0, y: down(grid, place) + grid.tall - 4 },
        row,
      )),
      cells,
    ),
  );
}

const across = (grid, column) => LEFT + column * (grid.wide + GAP);
const down = (grid, row) => TOP + row * (grid.tall + GAP);

function heads(grid) {
  const columns = Array.from({ length: grid.columns / grid.every }, (_, place) => place * grid.every);
  return columns.map((column) =>
    svg("text", { class: "tick-text", x: across(grid, column), y: TOP - 6 }, String(column).padStart(2, "0")));
}

const cell = (grid, x, y, shade) =>
  svg("rect", { class: `heat-cell shade-${shade}`, x, y, width: grid.wide, height: grid.tall, rx: 2 });

const corner = (x, y, { wide }) => svg("path", {
  class: "herd-mark",
  d: `M${x} ${y}h${wide / 2}l${-wide / 2} ${wide / 2}z`,
});

function choosable(rect, { index, count, instant, herd, pick }) {
  const text = `${stamp(instant)}: ${count} ${count === 1 ? "start" : "starts"}${herd ? ", a herd" : ""}`;
  const choose = (event) => {
    if (event.key && event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    pick(index);
  };
  rect.append(svg("title", {}, text));
  const props = { role: "button", tabindex: "-1", "aria-label": text, "data-step": index };
  return svg("g", { ...props, on: { click: choose, keydown: choose } }, rect, herd);
}

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
