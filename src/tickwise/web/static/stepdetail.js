/** Below the step that is chosen: what was answered to it, what it hands on, and to begin again from it. */

import { may } from "./api.js";
import { Answer } from "./approvals.js";
import { Button, Link } from "./components.js";
import { JsonTree } from "./jsontree.js";
import { html } from "./preact.js";
import { isActive, retryFrom, whyNotFrom } from "./runactions.js";
import { stepOf } from "./steps.js";

/** An item of `foreach` is repeated with its whole step. `changed` is called when the run was put back. */
export function StepDetail({ run, steps, step, definition, changed }) {
  const from = steps.find(({ name }) => name === stepOf(step.name)) ?? step;
  const whyNot = whyNotFrom(run, from, definition);
  const isHandingOn = Object.keys(step.outputs).length > 0;
  const retry = async () => (await retryFrom(run, from.name, followingOf(steps, from.name))) && changed();
  const isOffered = may("operator", run.job) && !isActive(run);
  if (!isOffered && !isHandingOn && !step.child && !step.approval?.answer) return null;
  return html`<div class="step-detail" role="group" aria-label=${step.name}>
    ${step.child && html`<p>${step.finished_at ? "was" : "waits for"} <${Link} parts=${["runs", step.child]}>run #${step.child} of ${step.job}<//></p>`}
    <${Answer} approval=${step.approval} />
    ${isHandingOn && html`<p class="faint">hands on</p><${JsonTree} label=${`Outputs of ${step.name}`} value=${step.outputs} />`}
    ${isOffered && html`<${Button} icon="runs" act=${retry} disabled=${Boolean(whyNot)}>Retry from ${from.name}<//>${whyNot && html`<p class="faint">${whyNot}</p>`}`}</div>`;
}

/** The names of all steps that depend on one, directly or not, in their order. */
export function followingOf(steps, first) {
  const found = new Set([first]);
  let size;
  do {
    size = found.size;
    for (const { name, depends } of steps) if (depends.some((one) => found.has(one))) found.add(name);
  } while (found.size > size);
  return steps.map(({ name }) => name).filter((name) => name !== first && found.has(name));
}
