/** A run beside the list that it is in: what became of it and why, with what can be done. */

import { get, may } from "./api.js";
import { Badge, Button, Facts, Failure, Link, Loading, Sentence, Time } from "./components.js";
import { Drawer } from "./drawer.js";
import { html } from "./preact.js";
import { useResource } from "./resource.js";
import { cancel, canRetry, isActive, retry } from "./runactions.js";
import { span, zone } from "./time.js";

const CALM = 1500;
const LINES = 8; // of an error

export function RunPeek({ page, id, close, changed }) {
  return html`<${Drawer} label=${`Run #${id}`} close=${close} title=${html`<${Link} parts=${["runs", id]}>Run #${id}<//>`} takesFocus=${false}><${Peeked} key=${id} page=${page} id=${id} changed=${changed} /><//>`;
}

function Peeked({ page, id, changed }) {
  const path = `runs/${encodeURIComponent(id)}`;
  const found = useResource(page, async (signal) => {
    const [run, why] = await Promise.all([get(path, {}, signal), get(`${path}/why`, { zone: zone.get() }, signal)]);
    return { run, why };
  }, { on: ["run"], concerns: (one) => one.id === id, calm: CALM });
  if (found.problem.value) return html`<${Failure} problem=${found.problem.value} again=${found.load} />`;
  if (!found.data.value) return html`<${Loading} />`;
  const { run, why } = found.data.value;
  const then = (act) => async () => (await act()) && (found.load(), changed());
  const took = run.started_at && run.finished_at && span(Date.parse(run.finished_at) - Date.parse(run.started_at));
  return html`<p class="why-verdict"><${Badge} state=${run.state} />${took && html`<span class="faint"> took ${took}</span>`}</p>
    ${run.error && html`<pre class="error-text">${run.error.split("\n").slice(0, LINES).join("\n")}</pre>`}
    <div class="actions"><${Link} parts=${["runs", id]} kind="button">Open the run<//>
      ${may("operator", run.job) && canRetry(run) && html`<${Button} kind="primary" act=${then(() => retry(run, false))}>Retry<//>`}
      ${may("operator", run.job) && isActive(run) && html`<${Button} kind="danger" act=${then(() => cancel(run))}>Cancel<//>`}</div>
    <${Facts} pairs=${[
      ["Job", html`<${Link} parts=${["runs"]} query=${{ q: `job:${run.job}` }}>${run.job}<//>`],
      run.schedule && ["Schedule", html`<${Link} parts=${["schedules", run.schedule]}>${run.schedule}<//>`],
      run.slot && ["Slot", html`<${Time} at=${run.slot} label />`],
      ["Trigger", html`${run.trigger_label}${run.by && ` by ${run.by}`}`],
      ["Attempt", String(run.attempt)],
      run.worker && ["Worker", run.worker],
    ]} />
    <p><${Sentence} text=${why.text} /></p>`;
}
