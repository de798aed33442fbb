/** A pipeline as a graph: steps in columns by how deep they depend, with their states; and as bars over time. */

import { h, svg } from "./dom.js";
import { icon } from "./icons.js";
import { now, span } from "./time.js";

const WIDE = 168;
const HIGH = 46;
const GAP_X = 44;
const GAP_Y = 14;

const stateOf = (step) => step.state ?? "waiting";
const begin = (step) => Date.parse(step.started_at);
const end = (step) => (step.finished_at ? Date.parse(step.finished_at) : now());
const took = (step) => (step.started_at ? span(end(step) - begin(step)) : "");

export function graph(steps) {
  const places = placed(steps);
  const columns = Math.max(...[...places.values()].map((place) => place.column)) + 1;
  const rows = Math.max(...[...places.values()].map((place) => place.row)) + 1;
  const width = columns * (WIDE + GAP_X) - GAP_X;
  const height = rows * (HIGH + GAP_Y) - GAP_Y;
  const known = (step) => step.depends.filter((name) => places.has(name));
  const into = (step) => known(step).map((name) => edge(places.get(name), places.get(step.name), step));
  const label = `Steps: ${steps.map(told).join("; ")}`;
  const size = { width: width + 4, height: height + 4, viewBox: `-2 -2 ${width + 4} ${height + 4}` };
  return h("div", { class: "graph" },
    svg("svg", { ...size, role: "img", "aria-label": label },
      steps.map(into),
      steps.map((step) => box(step, places.get(step.name))),
    ),
  );
}

const told = (step) =>
  `${step.name} ${stateOf(step)}${step.depends.length ? ` after ${step.depends.join(" and ")}` : ""}`;

/** Columns by the longest way from the start; rows so that a step stands near what it depends on. */
function placed(steps) {
  const known = new Map(steps.map((step) => [step.name, step]));
  const depths = new Map();
  const depth = (name, seen = new Set()) => {
    if (depths.has(name) || seen.has(name)) return depths.get(name) ?? 0;
    seen.add(name);
    const before = known.get(name).depends.filter((one) => known.has(one)).map((one) => depth(one, seen) + 1);
    depths.set(name, Math.max(0, ...before));
    return depths.get(name);
  };
  const columns = [];
  for (const step of steps) (columns[depth(step.name)] ??= []).push(step);
  const places = new Map();
  columns.forEach((column, number) => {
    const wish = (step) => {
      const rows = step.depends.map((name) => places.get(name)?.row).filter((row) => row !== undefined);
      return rows.length ? rows.reduce((sum, row) => sum + row, 0) / rows.length : 0;
    };
    const ordered = [...column].sort((a, b) => wish(a) - wish(b));
    ordered.forEach((step, row) => places.set(step.name, { column: number, row }));
  });
  return places;
}

const left = (place) => place.column * (WIDE + GAP_X);
const middle = (place) => place.row * (HIGH + GAP_Y) + HIGH / 2;

function edge(from, to, step) {
  const [x1, y1, x2, y2] = [left(from) + WIDE, middle(from), left(to), middle(to)];
  const bend = (x2 - x1) / 2;
  return svg("path", {
    class: `edge ${step.state ? "done" : ""}`,
    d: `M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`,
  });
}

function box(step, place) {
  const mark = icon(stateOf(step));
  const at = { x: 10, y: 8, width: 14, height: 14 };
  for (const [side, pixels] of Object.entries(at)) mark.setAttribute(side, pixels);
  const name = step.name.length > 18 ? `${step.name.slice(0, 17)}…` : step.name;
  return svg(
    "g",
    { class: `step is-${stateOf(step)}`, transform: `translate(${left(place)} ${middle(place) - HIGH / 2})` },
    svg("title", {}, step.error ? `${step.name}: ${step.error}` : step.name),
    svg("rect", { width: WIDE, height: HIGH, rx: 6 }),
    mark,
    svg("text", { x: 30, y: 20, class: "step-name" }, name),
    svg("text", { x: 30, y: 36, class: "step-state" }, step.told ?? [stateOf(step), took(step)].filter(Boolean).join(" · ")),
  );
}
