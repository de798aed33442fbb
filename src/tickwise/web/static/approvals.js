/** Steps that wait for a person: who is asked, since when, and the answer. */

import { may, send } from "./api.js";
import { Button, Icon, Time } from "./components.js";
import { ask } from "./dialog.js";
import { Field } from "./fields.js";
import { html } from "./preact.js";
import { isActive } from "./runactions.js";
import { toast } from "./toasts.js";

const DONE = { approve: "approved", reject: "rejected" };
const article = (word) => (/^[aeiou]/.test(word) ? `an ${word}` : `a ${word}`);

export const isAsking = ({ state, approval }) => Boolean(approval) && state === "waiting" && !approval.answer;

/** One box for each step of an active run that waits for an answer. `changed` is called when there is one. */
export function OpenApprovals({ run, steps, changed }) {
  if (!isActive(run)) return null;
  return steps.filter(isAsking).map((step) => html`<div key=${step.name} class="warning approval" role="group" aria-label=${`Approval of ${step.name}`}><${Icon} name="person" /><div>
    <p>The step <strong>${step.name}</strong> waits for an approval by ${article(step.approval.role)} since <${Time} at=${step.approval.since} />${step.approval.until && html`, until <${Time} at=${step.approval.until} label />`}.</p>
    ${may(step.approval.role, run.job)
      ? html`<div class="actions"><${Button} kind="primary" act=${answers(run, step, "approve", changed)}>Approve<//><${Button} kind="danger" act=${answers(run, step, "reject", changed)}>Reject<//></div>`
      : html`<p class="faint">Only ${article(step.approval.role)} can answer.</p>`}</div></div>`);
}

/** What was answered to a step; nothing if nobody has answered. */
export function Answer({ approval }) {
  if (!approval?.answer) return null;
  return html`<p>${DONE[approval.answer]}${approval.by && html` by <strong>${approval.by}</strong>`}, <${Time} at=${approval.answered_at} label />${approval.reason && html`: ${approval.reason}`}</p>`;
}

const answers = (run, step, verb, changed) => async () => {
  const given = await ask({
    title: `${verb === "approve" ? "Approve" : "Reject"} ${step.name} of run #${run.id}`,
    body: html`<p>${verb === "approve" ? "The run goes on." : "The step fails, and is not tried again by itself."}</p>
      <${Field} label="Reason" name="reason" maxlength="1000" hint="kept in the audit" />`,
    confirm: verb === "approve" ? "Approve" : "Reject",
    danger: verb === "reject",
    act: ({ reason }) => send("POST", `runs/${encodeURIComponent(run.id)}:${verb}`, { step: step.name, reason }),
  });
  if (!given) return;
  toast(`${given.step} is ${DONE[given.answer]}.`);
  changed();
};
