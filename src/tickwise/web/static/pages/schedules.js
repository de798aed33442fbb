/** All schedules with their last slots: found by name, paused and run in numbers. */

import { pause, removeJob, resume, runJob, trigger } from "../actions.js";
import { get, may } from "../api.js";
import { Badge, Button, Choices, Countdown, Empty, Failure, Heading, Link, Panel, Time } from "../components.js";
import { SearchBox } from "../fields.js";
import { html, shows, useEffect, useRef, useState } from "../preact.js";
import { useResource } from "../resource.js";
import { Strip } from "../ribbon.js";
import { go, refine } from "../routes.js";
import { openSlot, SlotPanel } from "../slotpanel.js";
import { LongTable } from "../table.js";
import { now, second, span, zone } from "../time.js";
import { usePager } from "../usepager.js";

const [FIRST, PAGE] = [100, 500]; // rows
const [CALM, CALMER, FEW] = [3000, 10_000, 50]; // milliseconds between two looks; rows, from which on it is the longer
const JOBS = 500; // that are looked at for those without a schedule
const STATES = [["", "all"], ["false", "active"], ["true", "paused"]];

export const title = () => "Schedules";

export const show = shows(Schedules);

function Schedules({ page }) {
  const [query, setQuery] = useState({ ...page.query });
  const [chosen, setChosen] = useState(new Set());
  const filter = (changes) => (refine(page.query, changes), setChosen(new Set()), setQuery({ ...page.query }));
  const { text, paused, label, job } = query;
  const read = (after) => get("schedules", { text, paused, label, job, after, limit: after ? PAGE : FIRST }, page.signal);
  const { pager, problem, redraw } = usePager(read, [text, paused, label, job]);
  const current = useRef(null);
  current.current = { pager, redraw, setChosen };
  useEffect(() => listen(page, () => current.current), []);
  const restart = () => (setChosen(new Set()), pager.restart());
  const choose = (name, yes) => {
    const next = new Set(chosen);
    if (yes) next.add(name);
    else next.delete(name);
    setChosen(next);
  };
  const own = pager.items.filter((one) => may("operator", one.job));
  const chooseAll = (yes) => setChosen(new Set(yes ? own.map((one) => one.name) : []));
  const isAll = own.length > 0 && chosen.size >= own.length;
  return html`<${Heading} title="Schedules">${chosen.size > 0
      ? html`<${Bulk} names=${[...chosen]} isAll=${isAll} pager=${pager} done=${restart} chooseAll=${chooseAll} />`
      : may("admin") && html`<${Link} parts=${["create"]} kind="button primary">New schedule<//>`}<//>
    <div class="filters">
      ${may("operator") && html`<label class="check all"><input type="checkbox" aria-label="Select all" checked=${isAll} onChange=${(event) => chooseAll(event.target.checked)} />all</label>`}
      <${SearchBox} label="Find a schedule or job" value=${text} change=${(typed) => filter({ text: typed })} />
      <${Choices} label="Which" options=${STATES} value=${paused ?? ""} change=${(code) => filter({ paused: code })} />
      <input aria-label="Label" placeholder="label=value" size="14" autocomplete="off" value=${label ?? ""} onChange=${(event) => filter({ label: event.target.value.trim() })} />
      ${job && html`<${Button} kind="chip" act=${() => filter({ job: "" })}>job: ${job} ×<//>`}</div>
    ${problem && html`<${Failure} problem=${problem} again=${restart} />`}
    <${LongTable} label="Schedules" columns=${columns()} items=${pager.items} keyOf=${(one) => one.name} more=${() => pager.more()}
      row=${(one, props) => html`<${Row} ...${props} one=${one} chosen=${chosen.has(one.name)} choose=${choose} />`}
      none=${() => (pager.done ? html`<${Nothing} query=${query} />` : "Loading …")} />
    ${(pager.done || pager.items.length > 0) && html`<${Unscheduled} page=${page} query=${query} />`}
    <${SlotPanel} page=${page} changed=${redraw} />`;
}

const columns = () => [["Select", "pick"], ["Schedule", "grow"], ["When", "words"], [`Next (${zone.get()})`, "when"], ["Last 30 slots", "slots"], ["Late", "number"]];

function Row({ one, chosen, choose, ...props }) {
  return html`<tr class=${one.paused ? "is-off" : ""} aria-rowindex=${props["aria-rowindex"]}>
    <td class="pick">${may("operator", one.job) && html`<input type="checkbox" aria-label=${`Select ${one.name}`} checked=${chosen} onChange=${(event) => choose(one.name, event.target.checked)} />`}</td>
    <td class="grow"><${Link} parts=${["schedules", one.name]} kind="name whole">${one.name}<//>
      ${one.kind !== "start" && html`<span class="tag">${one.kind}</span>`}${one.job !== one.name && one.kind === "start" && html`<span class="faint"> of ${one.job}</span>`}</td>
    <td class="words" title=${one.times}>${one.means}</td>
    <td class="when"><${Next} one=${one} /></td>
    <td class="slots"><${Strip} slots=${one.slots ?? []} open=${({ slot }) => openSlot({ schedule: one.name, slot })} /></td>
    <td class="number faint">${one.late_ms === null ? "" : span(one.late_ms)}</td></tr>`;
}

/** When it runs next, or what keeps it from that. */
export function Next({ one }) {
  if (one.paused) return html`<span title=${one.paused.reason}><${Badge} state="paused" /><span class="faint">${one.paused.reason && ` ${one.paused.reason}`}${one.paused.until && html` · resumes <${Countdown} at=${one.paused.until} />`}</span></span>`;
  if (one.waits_for_events && !one.next_run_at && !one.paused) return html`<span class="faint">on an event</span>`;
  if (one.finished) return html`<span class="faint">finished</span>`;
  if (one.waits) return html`<span title=${one.waits}><${Badge} state="queued">waits<//><span class="faint"> ${one.waits}</span></span>`;
  if (!one.next_run_at) return html`<span class="faint">–</span>`;
  second.value;
  const isDue = Date.parse(one.next_run_at) <= now();
  return html`<span class="count">${isDue ? "due now" : html`<${Countdown} at=${one.next_run_at} />`}</span><span class="faint at"><${Time} at=${one.next_run_at} short /></span>`;
}

function Bulk({ names, isAll, pager, done, chooseAll }) {
  const then = (act) => async () => (await act(names)) && done();
  const rest = async () => {
    while (!pager.done) await pager.more();
    chooseAll(true);
  };
  return html`<div class="bulk" role="group" aria-label="Selected schedules"><span>${names.length.toLocaleString("en")} selected</span>
    ${isAll && !pager.done && html`<${Button} kind="quiet" act=${rest}>Select all that match<//>`}
    <${Button} icon="paused" act=${then(pause)}>Pause<//><${Button} act=${then(resume)}>Resume<//>
    <${Button} icon="runs" act=${then((given) => trigger(given))}>Run now<//><${Button} kind="quiet" act=${() => chooseAll(false)}>Clear selection<//></div>`;
}

/** Jobs that run only when somebody says so. */
function Unscheduled({ page, query }) {
  const jobs = useResource(page, async (signal) => (await get("jobs", { limit: JOBS }, signal)).items.filter((one) => !one.schedules.length));
  const shown = jobs.data.value?.filter((one) => !query.text || one.name.includes(query.text)) ?? [];
  return shown.length > 0 && html`<${Panel} title="Jobs without a schedule"><ul class="needs">${shown.map((one) => html`<li class="need" key=${one.name}>
    <div class="need-text"><${Link} parts=${["runs"]} query=${{ q: `job:${one.name}` }} kind="name">${one.name}<//>${one.description && html`<div class="faint">${one.description}</div>`}</div>
    <div class="actions">${may("admin") && one.source === "api" && html`<${Button} kind="quiet" act=${async () => (await removeJob(one.name)) && jobs.load()}>Delete<//>`}${may("operator", one.name) && html`<${Button} icon="runs" act=${() => runJob(one.name)}>Run now<//>`}</div></li>`)}</ul><//>`;
}

function Nothing({ query }) {
  if (Object.keys(query).length) return html`<${Empty} text="No schedules match." advice="Clear a filter."><${Button} act=${() => go(["schedules"])}>Show all<//><//>`;
  return html`<${Empty} text="No schedules yet." advice="Add a job file to the watched folder, decorate a function with @tw.job, or make one here." />`;
}

/** Keep the list as it is told. */
function listen(page, current) {
  const again = page.calmly(() => current().pager.restart(), CALM);
  page.listen("schedule", (events) => take(events, current(), again));
  page.listen("schedule_deleted", (gone) => {
    const names = new Set(gone.map((one) => one.name));
    current().setChosen((old) => new Set([...old].filter((name) => !names.has(name))));
    again();
  });
  page.listen("reset", again);
  for (const kind of ["run", "decision"]) page.listen(kind, (events) => events.some((one) => current().pager.items.some(({ name }) => name === one.schedule)) && look());
  const look = page.calmly(() => refreshListed(page, current()), () => (current().pager.items.length > FEW ? CALMER : CALM));
}

/** Put what was told into the list; one that should be in it and is not may be new. */
function take(events, { pager, redraw }, again) {
  const places = new Map(pager.items.map((one) => [one.name, one]));
  for (const one of events) if (places.has(one.name)) Object.assign(places.get(one.name), one);
  const last = pager.done ? null : pager.items.at(-1)?.name;
  if (events.some(({ name }) => !places.has(name) && (last === null || name < last))) again();
  redraw();
}

/** The slots of those that are first in the list, as they are now. */
async function refreshListed(page, { pager, redraw }) {
  const { text, paused, label, job } = page.query;
  const { items } = await get("schedules", { text, paused, label, job, limit: FIRST }, page.signal);
  const fresh = new Map(items.map((one) => [one.name, one]));
  for (const one of pager.items) if (fresh.has(one.name)) Object.assign(one, fresh.get(one.name));
  redraw();
}
