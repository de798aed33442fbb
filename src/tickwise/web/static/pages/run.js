/** One run: what became of it, step by step, beside what it printed. */

import { get, may } from "../api.js";
import { isAsking, OpenApprovals } from "../approvals.js";
import { Badge, Button, Empty, Facts, Failure, Icon, Link, Loading, Panel, ScheduleLink, Sentence, Time, words } from "../components.js";
import { JsonTree } from "../jsontree.js";
import { Log } from "../log.js";
import { html, shows, useState } from "../preact.js";
import { useResource } from "../resource.js";
import { setQuery } from "../routes.js";
import { cancel, canRetry, isActive, retry } from "../runactions.js";
import { Chain } from "../slotpanel.js";
import { StepDetail } from "../stepdetail.js";
import { Steps, triesOf } from "../steps.js";
import { now, second, span, zone } from "../time.js";

const LOOK_EVERY = 1000;
const LIKE = 30; // runs before, of which the median is told

export const title = ({ id }) => `Run #${id}`;

export const show = shows(RunPage);

function RunPage({ page }) {
  const { id } = page.params;
  const path = `runs/${encodeURIComponent(id)}`;
  const concerns = (one) => one.id === undefined || one.id === id;
  const read = async (signal) => {
    const [run, steps, attempts] = await Promise.all(["", "/steps", "/attempts"].map((part) => get(path + part, {}, signal)));
    return { run, steps: steps.items, attempts: attempts.items };
  };
  const found = useResource(page, read, { on: ["run"], concerns, calm: LOOK_EVERY, every: 3 * LOOK_EVERY }, [id]);
  const { data, problem } = found;
  if (problem.value) return html`<h1 tabindex="-1">${title(page.params)}</h1><${Failure} problem=${problem.value} again=${found.load} />`;
  if (!data.value) return html`<h1 tabindex="-1">${title(page.params)}</h1><${Loading} rows=${6} />`;
  return html`<${Shown} page=${page} path=${path} ...${data.value} changed=${found.load} />`;
}

function Shown({ page, path, run, steps, attempts, changed }) {
  const [query, setOwn] = useState(page.query);
  const refine = (changes) => {
    const next = Object.fromEntries(Object.entries({ ...query, ...changes }).filter(([, value]) => value));
    setQuery(next);
    setOwn(next);
  };
  const ends = attempts.map((one) => Date.parse(one.finished_at));
  const several = steps.length > 1;
  const job = useResource(page, (signal) => get(`jobs/${encodeURIComponent(run.job)}`, {}, signal).catch(() => null), {}, [run.job]);
  const definition = job.data.value?.definition;
  return html`<${Head} page=${page} run=${run} steps=${steps} several=${several} changed=${changed} />
    <div class=${`run-body ${several ? "" : "one-step"}`}>
      ${several && html`<${Panel} title="Steps" kind="run-steps"><${Steps} steps=${steps} tries=${triesOf(run, attempts)} told=${run.error} chosen=${query.step ?? ""} choose=${(step) => refine({ step })}>
        ${(step) => html`<${StepDetail} run=${run} steps=${steps} step=${step} definition=${definition} changed=${changed} />`}<//><//>`}
      <${Panel} title="Log" kind="run-log" about=${query.step && `of ${query.step}`}>
        <${Log} run=${run.id} step=${query.step} ends=${ends} line=${Number(query.line) || null} setLine=${(line) => refine({ line })} ended=${changed} again=${`${run.attempt} ${isActive(run)}`} /><//></div>
    ${attempts.length > 0 && html`<${Attempts} attempts=${attempts} />`}
    <div class="columns"><${Params} run=${run} definition=${definition} />
      <${Panel} title="Why it ran"><${WhyRan} page=${page} path=${path} run=${run} /><//>
      ${run.result !== null && html`<${Panel} title="Result"><${JsonTree} label="Result" value=${run.result} /><//>`}</div>`;
}

function Head({ page, run, steps, several, changed }) {
  const then = (act) => async () => (await act()) && changed();
  const late = run.started_at && run.attempt === 1 ? Math.max(0, Date.parse(run.started_at) - Date.parse(run.due_at)) : null;
  return html`<header class="page-head"><h1 tabindex="-1"><span class="faint">Run #${run.id} of </span><${Link} parts=${["runs"]} query=${{ q: `job:${run.job}` }}>${run.job}<//></h1>
      <div class="actions">${may("operator", run.job) && [
        canRetry(run) && html`<${Button} kind="primary" icon="runs" act=${then(() => retry(run, several))}>Retry<//>`,
        isActive(run) && html`<${Button} kind="danger" icon="cancelled" disabled=${run.cancelling} act=${then(() => cancel(run))}>${run.cancelling ? "Cancelling" : "Cancel"}<//>`,
      ]}</div></header>
    <p class="lead" aria-live="polite"><${Badge} state=${run.state} />${run.cancelling && isActive(run) && html`<span class="tag">asked to end</span>`}<${Timing} page=${page} run=${run} /></p>
    ${run.error && html`<div class="failure" role="alert"><${Icon} name="failed" /><pre class="error-text">${run.error}</pre></div>`}
    <${OpenApprovals} run=${run} steps=${steps} changed=${changed} />
    ${waitsBeside(run, steps).map((text) => html`<div class="warning"><${Icon} name="queued" /><div><${Sentence} text=${text} /></div></div>`)}
    ${run.hand_over && html`<${HandOver} given=${run.hand_over} active=${isActive(run)} />`}
    <${Facts} kind="line" pairs=${[
      ["Schedule", run.schedule ? html`<${ScheduleLink} name=${run.schedule} />` : "none"],
      run.slot && ["Slot", html`<${Time} at=${run.slot} label />${run.timezone && run.timezone !== zone.get() && html` · <${Time} at=${run.slot} zone=${run.timezone} label />`}`],
      ["Trigger", html`${run.trigger_label}${run.by && ` by ${run.by}`}`],
      late !== null && ["Late by", span(late)],
      ["Attempt", String(run.attempt)],
      run.worker && ["Worker", run.worker],
      ["Queue", `${run.queue}${run.priority ? `, priority ${run.priority}` : ""}`],
      run.key && ["Key", run.key],
    ]} />`;
}

/** Why a run has not gone on, but for the approvals that are shown by themselves. */
const waitsBeside = (run, steps) => (steps.some(isAsking) ? run.waits.filter((text) => !text.startsWith("It waits for an approval ")) : run.waits);

/** A run that another engine carries out: where it is there, and how far, which counts only while it runs. */
function HandOver({ given, active }) {
  const isAddress = /^https?:\/\//.test(given.address);
  const reference = html`<code>${given.reference}</code>`;
  return html`<div class="warning note"><${Icon} name="moved" /><div>Handed over to <strong>${given.engine}</strong> as
    ${" "}${isAddress ? html`<a href=${given.address} target="_blank" rel="noopener noreferrer">${reference}</a>` : reference}${!isAddress && given.address && html` in <code>${given.address}</code>`}${active && `: ${words(given.state)}`}${active && given.silent_since && html`; it does not answer since <${Time} at=${given.silent_since} />`}</div></div>`;
}

/** How long, and while it runs how long it usually takes. */
function Timing({ page, run }) {
  const isRunning = run.state === "running" && run.started_at;
  const before = useResource(page, async (signal) => {
    if (!isRunning) return null;
    const { items } = await get("runs", { job: run.job, state: "succeeded", limit: LIKE }, signal);
    const lengths = items.filter((one) => one.started_at && one.finished_at).map((one) => Date.parse(one.finished_at) - Date.parse(one.started_at)).sort((a, b) => a - b);
    return lengths[Math.floor(lengths.length / 2)] ?? null;
  }, {}, [Boolean(isRunning)]);
  if (isRunning) {
    second.value;
    const median = before.data.value;
    return html`<span>for ${span(Math.max(0, now() - Date.parse(run.started_at)))}${median && html`<span class="faint">, usually ${span(median)}</span>`}</span>`;
  }
  return run.started_at && run.finished_at && html`<span>took ${span(Date.parse(run.finished_at) - Date.parse(run.started_at))}</span>`;
}

const Attempts = ({ attempts }) => html`<${Panel} title="Earlier attempts"><table class="plain" aria-label="Earlier attempts">
  <thead><tr><th scope="col">Attempt</th><th scope="col">Ended by</th><th scope="col">From</th><th scope="col">To</th><th scope="col">Worker</th><th scope="col" class="grow">Error</th></tr></thead>
  <tbody>${attempts.map((one) => html`<tr key=${one.number}><td data-title="Attempt"><div>${one.number}</div></td><td data-title="Ended by"><div>${words(one.event)}</div></td>
    <td data-title="From"><div><${Time} at=${one.started_at} /></div></td><td data-title="To"><div><${Time} at=${one.finished_at} /></div></td>
    <td data-title="Worker"><div>${one.worker}</div></td><td data-title="Error" class="grow"><div>${one.error}</div></td></tr>`)}</tbody></table><//>`;

/** What the run got: the definition's params, with those on top that were given for this run. */
function Params({ run, definition }) {
  const defined = definition?.params ?? {};
  const all = { ...defined, ...run.params };
  const own = Object.keys(run.params).filter((name) => JSON.stringify(run.params[name]) !== JSON.stringify(defined[name]));
  const about = own.length && Object.keys(defined).length ? `given for this run: ${own.join(", ")}` : "";
  return html`<${Panel} title="Params" about=${about}>${Object.keys(all).length
    ? html`<${JsonTree} label="Params" value=${all} />`
    : html`<p class="faint">none</p>`}<//>`;
}

/** Asked again whenever the run changes. */
function WhyRan({ page, path, run }) {
  const why = useResource(page, (signal) => get(`${path}/why`, { zone: zone.get() }, signal), {}, [run.state, run.attempt, run.hand_over?.state, run.hand_over?.silent_since]);
  if (why.problem.value) return html`<${Empty} text=${why.problem.value.message} />`;
  if (!why.data.value) return html`<${Loading} rows=${3} />`;
  return html`<p class="why-text"><${Sentence} text=${why.data.value.text} /></p><${Chain} why=${why.data.value} />`;
}

