/** The steps of a run as rows with bars over its time. Waiting between them is cut out, so that short steps are seen. */

import { isAsking } from "./approvals.js";
import { Icon } from "./components.js";
import { html, useState } from "./preact.js";
import { now, second, span } from "./time.js";

const FEW = 6; // items of a step that are shown at once
const ITEM = /^(.+)\[\d+\]$/; // no step of a definition can be named so
const GAP = 0.04; // of the whole, for what is cut out
const LONG = 0.12; // of the time in which something ran: longer waits are cut

const begin = (step) => Date.parse(step.started_at);
const end = (step) => (step.finished_at ? Date.parse(step.finished_at) : now());
export const stateOf = (step) => step.state ?? "waiting";

const KINDS = ["command", "script", "python", "http", "job", "approve"];

/** The step of which this is the execution for one item of `foreach`; the name itself if it is no item's. */
export const stepOf = (name) => ITEM.exec(name)?.[1] ?? name;

/** The steps of a definition as a graph draws them. */
export const stepsOf = (definition) =>
  (definition.steps ?? []).map((step) => ({ ...step, depends: [step.depends ?? []].flat(), state: null, about: KINDS.find((kind) => kind in step) ?? "" }));

/** Where an instant stands between 0 and 1, and where time was cut out. */
export function axisOf(intervals) {
  const busy = [];
  for (const [from, until] of [...intervals].sort((a, b) => a[0] - b[0])) {
    if (busy.length && from <= busy.at(-1)[1]) busy.at(-1)[1] = Math.max(busy.at(-1)[1], until);
    else busy.push([from, until]);
  }
  const worked = busy.reduce((sum, [from, until]) => sum + until - from, 0) || 1;
  const pieces = [];
  busy.forEach(([from, until], place) => {
    const wait = place ? from - busy[place - 1][1] : 0;
    if (wait) pieces.push({ from: from - wait, until: from, size: wait > LONG * worked ? null : wait });
    pieces.push({ from, until, size: until - from });
  });
  const cuts = pieces.filter((one) => one.size === null).length;
  const kept = pieces.reduce((sum, one) => sum + (one.size ?? 0), 0) || 1;
  let at = 0;
  for (const piece of pieces) {
    piece.at = at;
    piece.share = piece.size === null ? GAP : (piece.size / kept) * (1 - cuts * GAP);
    at += piece.share;
  }
  const place = (instant) => {
    const piece = pieces.find((one) => instant <= one.until) ?? pieces.at(-1);
    const within = piece.until > piece.from ? (instant - piece.from) / (piece.until - piece.from) : 0;
    return piece.at + Math.min(1, Math.max(0, within)) * piece.share;
  };
  return { place, cuts: pieces.filter((one) => one.size === null) };
}

/** The steps on which the run's length depended: from the one that ended last, back by what it waited for longest. */
export function criticalPath(steps) {
  const begun = steps.filter((step) => step.started_at);
  const named = new Map(begun.map((step) => [step.name, step]));
  const path = new Set();
  let step = begun.toSorted((a, b) => end(b) - end(a))[0];
  while (step && !path.has(step.name)) {
    path.add(step.name);
    step = step.depends.map((name) => named.get(name)).filter(Boolean).toSorted((a, b) => end(b) - end(a))[0];
  }
  return path;
}

/** The attempts of a run as intervals with their states, the last one as well. */
export function triesOf(run, attempts) {
  const last = run.started_at && { started_at: run.started_at, finished_at: run.finished_at, state: run.state };
  return [...attempts.map((one) => ({ ...one, state: "failed" })), last].filter((one) => one?.started_at);
}

/**
 * `told` is what the run says of its failure, which is not said again; `tries` are its attempts. `children(step)` stands
 * below the one that is chosen.
 */
export function Steps({ steps: all, told, tries, chosen, choose, children }) {
  if (all.some((step) => step.state === "running")) second.value; // bars grow
  const begun = [...all.filter((step) => step.started_at), ...(tries.length > 1 ? tries : [])];
  const axis = begun.length ? axisOf(begun.map((step) => [begin(step), end(step)])) : null;
  const names = new Set(all.map((step) => step.name));
  const isOfAnother = ({ name }) => stepOf(name) !== name && names.has(stepOf(name));
  const steps = all.filter((step) => !isOfAnother(step));
  const path = criticalPath(steps);
  const row = (step) => html`<${Row} key=${step.name} step=${step} axis=${axis} told=${told} isCritical=${path.size > 1 && path.has(step.name)} chosen=${chosen === step.name} choose=${choose} />
    ${chosen === step.name && children(step)}`;
  return html`<div class="steps" role="group" aria-label="Steps">
    <button type="button" class="step-row" aria-pressed=${String(!chosen)} onClick=${() => choose("")}><${Icon} name="runs" /><span class="step-name">All steps</span>
      ${tries.length > 1 && html`<span class="faint step-told">${tries.length} attempts</span><span class="step-lane">${tries.map((one, place) =>
        html`<i key=${place} class=${`step-bar is-critical is-${one.state}`} title=${`attempt ${place + 1}: ${one.state}, ${span(end(one) - begin(one))}`} style=${barOf(one, axis)} />`)}</span>`}</button>
    ${steps.map((step) => {
      const items = all.filter((one) => isOfAnother(one) && stepOf(one.name) === step.name);
      return html`${row(step)}${items.length > 0 && html`<${Items} key=${`${step.name} items`} items=${items} chosen=${chosen} row=${row} />`}`;
    })}
    ${axis?.cuts.map((cut) => html`<p class="faint step-note">${span(cut.until - cut.from)} of waiting is cut out.</p>`)}</div>`;
}

/** The executions of a step with `foreach`: when there are many, those that did not succeed, until all are asked for. */
function Items({ items, chosen, row }) {
  const [isOpen, setOpen] = useState(items.length <= FEW);
  const shown = isOpen ? items : items.filter((one) => one.name === chosen || one.state !== "succeeded").slice(0, FEW);
  const counts = Object.entries(Object.groupBy(items, stateOf)).map(([state, of]) => `${of.length.toLocaleString("en")} ${state}`);
  return html`<div class="step-items">
    ${items.length > FEW && html`<button type="button" class="link step-fold" aria-expanded=${String(isOpen)} onClick=${() => setOpen(!isOpen)}>${isOpen ? "Show fewer" : "Show all"}: ${counts.join(", ")}</button>`}
    ${shown.map(row)}</div>`;
}

const barOf = (one, axis) => ({
  left: `${axis.place(begin(one)) * 100}%`,
  width: `${Math.max(1.5, (axis.place(end(one)) - axis.place(begin(one))) * 100)}%`,
});

function Row({ step, axis, told: known, isCritical, chosen, choose }) {
  const state = stateOf(step);
  const bar = step.started_at && axis && barOf(step, axis);
  const outputs = Object.keys(step.outputs).length;
  const told = [
    isAsking(step) && `${step.approval.role} asked`,
    step.attempt > 1 && `attempt ${step.attempt}`, step.started_at && span(end(step) - begin(step)), outputs && `${outputs} ${outputs === 1 ? "output" : "outputs"}`,
  ].filter(Boolean).join(" · ");
  return html`<button type="button" class=${`step-row step is-${state}`} aria-pressed=${String(chosen)} onClick=${() => choose(chosen ? "" : step.name)}
      title=${step.depends.length ? `after ${step.depends.join(", ")}` : undefined}>
    <${Icon} name=${state} /><span class="step-name">${step.name}</span><span class="faint step-told">${told || state}</span>
    <span class="step-lane">${bar && html`<i class=${`step-bar ${isCritical ? "is-critical" : ""}`} style=${bar} />`}</span>
    ${step.error && !known.includes(step.error) && html`<span class="step-error">${step.error.split("\n")[0]}</span>`}</button>`;
}
