/** A pipeline as a graph, laid out by dagre: each step after what it depends on, to the right or, where that is too wide, below. */

import { Loading } from "./components.js";
import { PATHS } from "./icons.js";
import { html, useEffect, useMemo, useRef, useState } from "./preact.js";

const [WIDE, HIGH] = [168, 46];
const LAYOUT = { nodesep: 14, marginx: 2, marginy: 2 };
const SMALLEST = 0.75; // of its size, before it goes down instead of to the right
const LETTERS = 18; // of a name

/** `steps` are `{name, depends, state, about, error}`; the state is null before there is a run. */
export function Graph({ steps }) {
  const [dagre, setDagre] = useState(null);
  useEffect(() => void import("./vendor/dagre.js").then(setDagre), []);
  const shape = JSON.stringify(steps.map(({ name, depends }) => [name, depends]));
  const node = useRef(null);
  const laid = useMemo(() => dagre && fitted(dagre, steps, node.current.clientWidth), [dagre, shape]);
  if (!laid) return html`<div class="graph" ref=${node}><${Loading} high=${150} /></div>`;
  const { width, height } = laid.graph();
  return html`<div class="graph" ref=${node} tabindex="0" role="group" aria-label="Graph of the steps"><svg viewBox=${`0 0 ${width} ${height}`} style=${{ width: `${width}px`, "min-width": `${Math.round(width * SMALLEST)}px` }} role="img" aria-label=${`Steps: ${steps.map(told).join("; ")}`}>
    ${laid.edges().map((edge) => html`<${Edge} key=${`${edge.v} ${edge.w}`} points=${laid.edge(edge).points} isDone=${steps.find(({ name }) => name === edge.v)?.state} />`)}
    ${steps.map((step) => html`<${Box} key=${step.name} step=${step} at=${laid.node(step.name)} />`)}</svg></div>`;
}

const stateOf = (step) => step.state ?? "plain"; // before there is a run

const told = (step) =>
  [step.name, step.state, step.depends.length && `after ${step.depends.join(" and ")}`].filter(Boolean).join(" ");

function fitted(dagre, steps, room) {
  const across = layout(dagre, steps, { rankdir: "LR", ranksep: 44 });
  return across.graph().width * SMALLEST <= room ? across : layout(dagre, steps, { rankdir: "TB", ranksep: 28 });
}

function layout({ Graph: Made, layout: place }, steps, direction) {
  const graph = new Made();
  graph.setGraph({ ...LAYOUT, ...direction });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { name } of steps) graph.setNode(name, { width: WIDE, height: HIGH });
  for (const { name, depends } of steps) for (const one of depends) if (graph.hasNode(one)) graph.setEdge(one, name);
  place(graph);
  return graph;
}

/** A curve through the points: straight lines between their middles, rounded at each. */
function Edge({ points, isDone }) {
  const middle = (a, b) => `${(a.x + b.x) / 2} ${(a.y + b.y) / 2}`;
  const [first, ...rest] = points;
  const bends = rest.slice(0, -1).map((point, place) => `Q${point.x} ${point.y} ${place === rest.length - 2 ? `${rest.at(-1).x} ${rest.at(-1).y}` : middle(point, rest[place + 1])}`);
  return html`<path class=${`edge ${isDone ? "done" : ""}`} d=${`M${first.x} ${first.y} ${bends.join(" ") || `L${rest.at(-1).x} ${rest.at(-1).y}`}`} />`;
}

function Box({ step, at }) {
  const state = stateOf(step);
  const name = step.name.length > LETTERS ? `${step.name.slice(0, LETTERS - 1)}…` : step.name;
  return html`<g class=${`step is-${state}`} transform=${`translate(${at.x - WIDE / 2} ${at.y - HIGH / 2})`}>
    <title>${step.error ? `${step.name}: ${step.error}` : step.name}</title><rect width=${WIDE} height=${HIGH} rx="6" />
    ${step.state && html`<svg class=${`icon icon-${state}`} viewBox="0 0 16 16" x="10" y="8" width="14" height="14"><path d=${PATHS[state] ?? PATHS.waiting} /></svg>`}
    <text x=${step.state ? 30 : 12} y="20" class="step-name">${name}</text><text x=${step.state ? 30 : 12} y="36" class="step-state">${step.about}</text></g>`;
}
