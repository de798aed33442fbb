/** One schedule: its slots, its runs, its definition, and what would be if. */

import { backfill, cancelAll, pause, remove, reschedule, reset, resume, takeSkipBack, trigger } from "../actions.js";
import { get, getVersion, may, mayAll, send } from "../api.js";
import { RestingSchedule } from "../blackouts.js";
import { Badge, Button, Countdown, Facts, Failure, Icon, Link, Loading, Panel, RunLink, Time } from "../components.js";
import { DefinitionTab } from "../definitiontab.js";
import { ask } from "../dialog.js";
import { html, shows, useEffect, useState } from "../preact.js";
import { EventsPanel } from "../receivedevents.js";
import { useResource } from "../resource.js";
import { go, refine, to } from "../routes.js";
import { concerning, RunsTab, SlotsTab } from "../schedule.js";
import { ShadowPanel } from "../shadow.js";
import { SimulationTab } from "../simulation.js";
import { SlotPanel } from "../slotpanel.js";
import { stamp, zone } from "../time.js";
import { toast } from "../toasts.js";
import { Next } from "./schedules.js";

const TABS = [["", "Slots"], ["runs", "Runs"], ["definition", "Definition"], ["whatif", "What if"]];
const SHOWN = 5; // slots to skip
const CALM = 2000; // milliseconds between two looks
const LOOK_EVERY = 2000;

export const title = ({ name }) => name;

export const show = shows(SchedulePage);

function SchedulePage({ page }) {
  const { name } = page.params;
  const path = `schedules/${encodeURIComponent(name)}`;
  const found = useResource(page, (signal) => getVersion(path, signal), {
    on: ["run", "schedule", "decision"], concerns: concerning({ name, job: name }), calm: CALM,
  });
  useEffect(() => page.listen("schedule_deleted", (events) => events.some((one) => one.name === name) && go(["schedules"])), []);
  const { data, problem } = found;
  if (problem.value) return html`<h1 tabindex="-1">${name}</h1><${Failure} problem=${problem.value} again=${found.load} />`;
  if (!data.value) return html`<h1 tabindex="-1">${name}</h1><${Loading} rows=${6} />`;
  return html`<${Shown} page=${page} row=${data.value.data} version=${data.value.version} changed=${found.load} />`;
}

function Shown({ page, row, version, changed }) {
  const [query, setQuery] = useState({ ...page.query });
  const change = (changes) => (refine(page.query, changes), setQuery({ ...page.query }));
  const tab = TABS.some(([code]) => code === query.tab) ? query.tab : "";
  return html`<div class="stays"><header class="page-head"><h1 tabindex="-1">${row.name}</h1><div class="actions"><${Actions} row=${row} version=${version} changed=${changed} /></div></header>
      <nav class="tabs" aria-label="Parts">${TABS.map(([code, word]) => html`<a key=${code} href=${to(["schedules", row.name], { tab: code })} aria-current=${tab === code ? "page" : null}
        onClick=${(event) => { if (!event.ctrlKey && !event.metaKey) (event.preventDefault(), change({ tab: code })); }}>${word}</a>`)}</nav></div>
    <${Lead} page=${page} row=${row} changed=${changed} />
    ${row.shadow && html`<${ShadowPanel} page=${page} row=${row} changed=${changed} />`}
    <${Backfilling} page=${page} row=${row} />
    ${tab === "" && row.waits_for_events && html`<${EventsPanel} page=${page} row=${row} />`}
    ${tab === "" && html`<${SlotsTab} page=${page} row=${row} query=${query} refine=${change} />`}
    ${tab === "runs" && html`<${RunsTab} page=${page} row=${row} />`}
    ${tab === "definition" && html`<${DefinitionTab} page=${page} row=${row} />`}
    ${tab === "whatif" && html`<${SimulationTab} page=${page} row=${row} />`}
    <${SlotPanel} page=${page} changed=${changed} />`;
}

function Actions({ row, version, changed }) {
  const then = (act) => async () => (await act()) && changed();
  const { name } = row;
  const away = async () => (await remove(row, version)) && go(["schedules"]);
  return html`${may("operator", row.job) && html`
      <${Button} kind="primary" icon="runs" act=${then(() => trigger([name]))}>Run now<//>
      ${row.paused ? html`<${Button} icon="runs" act=${then(() => resume([name]))}>Resume<//>` : html`<${Button} icon="paused" act=${then(() => pause([name]))}>Pause<//>`}
      ${!row.waits_for_events && html`<${Button} icon="moved" act=${then(() => reschedule(row))}>Reschedule<//>
      <${Button} icon="plus" act=${then(() => backfill(row))}>Backfill<//>`}
      <${Button} kind="quiet" act=${then(() => reset(row))}>Reset<//>
      <${Button} kind="quiet" act=${then(() => cancelAll(row.job))}>Cancel runs<//>`}
    ${row.source === "api" && may("admin") && html`<${Link} parts=${["schedules", name, "edit"]} kind="button">Edit<//><${Button} kind="danger" act=${away}>Delete<//>`}`;
}

function Lead({ page, row, changed }) {
  const { paused, definition, last_run_id: id, last_state: state, last_run_at: ran, last_enqueued_at: queued } = row;
  const labels = Object.entries(definition.labels ?? {}).map(([key, value]) => `${key}=${value}`);
  return html`<p class="lead"><code class="mono">${row.times}</code>${row.means}${definition.description && html`<span class="faint">${definition.description}</span>`}</p>
    ${paused && html`<div class="warning"><${Icon} name="paused" /><div><strong>Paused by ${paused.by}</strong><div>${paused.reason || "No reason was given."} <span class="faint">· <${Countdown} at=${paused.at} /></span></div>
      ${paused.until && html`<div>Resumes <${Countdown} at=${paused.until} />, at <${Time} at=${paused.until} label /></div>`}</div></div>`}
    ${row.blackouts.length > 0 && mayAll("viewer") && html`<${RestingSchedule} page=${page} names=${row.blackouts} />`}
    ${row.skips.length > 0 && html`<${Skips} row=${row} changed=${changed} />`}
    ${row.waits && html`<div class="warning"><${Icon} name="queued" /><div>Its oldest slot waits: ${row.waits}.</div></div>`}
    ${row.warnings.map((text) => html`<div class="warning"><${Icon} name="warning" /><div>${text}</div></div>`)}
    <${Facts} kind="line" pairs=${[
      ["Next", html`<${Next} one=${row} />${row.next_run_at && row.timezone !== zone.get() && html`<span class="faint"> · <${Time} at=${row.next_run_at} zone=${row.timezone} label /></span>`}`],
      row.moved_to && ["Moved to", html`<${Time} at=${row.moved_to} label />`],
      ["Last", id ? html`${state && html`<${Badge} state=${state} /> `}<${RunLink} id=${id} /> <${Countdown} at=${ran ?? queued} />` : "not run yet"],
      ["Decided up to", html`<${Time} at=${row.cursor} label />`],
      ["Job", html`<${Link} parts=${["runs"]} query=${{ q: `job:${row.job}` }}>${row.job}<//>`],
      labels.length > 0 && ["Labels", labels.map((label) => html`<${Link} key=${label} parts=${["schedules"]} query=${{ label }} kind="tag">${label}<//>`)],
    ]} />`;
}

/** Slots to come that somebody does not want, until their time has come. */
function Skips({ row, changed }) {
  const back = (slot) => async () => (await takeSkipBack(row.name, slot)) && changed();
  return html`<div class="warning note"><${Icon} name="skipped" /><div><strong>Will be skipped</strong>
    <ul class="skips" aria-label="Slots to skip">${row.skips.slice(0, SHOWN).map((one) => html`<li key=${one.slot}><${Time} at=${one.slot} label /> by ${one.by}${one.reason && `: ${one.reason}`}
      ${may("operator", row.job) && html` <${Button} kind="quiet" act=${back(one.slot)} label=${`Let it run: ${stamp(one.slot)}`}>Let it run<//>`}</li>`)}</ul>
    ${row.skips.length > SHOWN && html`<div class="faint">and ${row.skips.length - SHOWN} more</div>`}</div></div>`;
}

/** How far a backfill is, with the way to end it. */
function Backfilling({ page, row }) {
  const path = `schedules/${encodeURIComponent(row.name)}/backfill`;
  const found = useResource(page, (signal) => get(path, {}, signal), { on: ["schedule"], concerns: (one) => one.name === row.name, every: row.backfilling ? LOOK_EVERY : undefined }, [row.backfilling]);
  const at = found.data.value;
  if (!at?.active) return null;
  const stop = () => ask({
    title: `Stop the backfill of ${row.name}`, confirm: "Stop backfill", danger: true,
    body: html`<p>No more slots are enqueued; runs that are already enqueued stay.</p>`,
    act: async () => (await send("DELETE", path), toast("The backfill was stopped."), await found.load()),
  });
  return html`<${Panel} title="Backfill" aside=${may("operator", row.job) && html`<${Button} kind="danger" act=${stop}>Stop backfill<//>`}>
    <progress max=${at.asked || 1} value=${at.made} aria-label="Backfill" /><p role="status">${at.made} of ${at.asked} slots have a run, ${at.left} are left.</p><//>`;
}
