/** Tabs of a schedule's page: its slots and its runs. */

import { backfill } from "./actions.js";
import { get, may } from "./api.js";
import { byDay, Calendar, DAYS, dayStart } from "./calendar.js";
import { Badge, briefError, Button, Choices, Empty, Failure, Link, Loading, Panel, RunLink, Sentence, Time } from "./components.js";
import { html, useState } from "./preact.js";
import { useResource } from "./resource.js";
import { Axis, Legend, Reading, Ribbon } from "./ribbon.js";
import { go } from "./routes.js";
import { openSlot } from "./slotpanel.js";
import { paceOf, RANGES, slotClass, slotWords, windowOf } from "./slots.js";
import { now, span, stamp, zone } from "./time.js";
import { Trend } from "./trend.js";

const DAY = 86_400;
const LISTED = 30; // slots
const MOST = 200; // schedules of a job
const TREND = 100; // runs
const CALM = 3000;
const EVERY = 30_000;
const FEWER = 760; // pixels

const iso = (second) => new Date(second * 1000).toISOString();

/** What this schedule and its job are told about. */
export const concerning = ({ name, job }) => (one) => (one.schedule ?? one.name) === name || one.job === job;

/** The time in which a schedule has some slots, but not too many. */
function rangeFor(row) {
  const pace = paceOf(row) ?? DAY * 1000;
  return pace <= 60_000 ? "1" : pace <= 900_000 ? "6" : pace < DAY * 1000 ? "24" : "168";
}

export function SlotsTab({ page, row, query, refine }) {
  const hours = RANGES[query.hours] ? query.hours : rangeFor(row);
  const live = { on: ["run", "decision", "schedule"], concerns: concerning(row), calm: CALM, every: EVERY };
  const one = async (asked, signal) => (await get("slots", { job: row.job, limit: MOST, ...asked }, signal)).items.find(({ name }) => name === row.name)?.bins ?? [];
  const ribbon = useResource(page, async (signal) => {
    const scale = windowOf(hours, now(), innerWidth < FEWER);
    return { scale, bins: await one({ since: iso(scale.since), until: iso(scale.until), bins: scale.bins }, signal) };
  }, live, [hours]);
  const month = useResource(page, async (signal) => {
    const since = dayStart(now(), DAYS - 1);
    const [step, number] = [2 * 3600, 12 * DAYS];
    return { since, step, bins: await one({ since: iso(since), until: iso(since + step * number), bins: number }, signal) };
  }, { ...live, calm: EVERY }, []);
  const [day, setDay] = useState(null);
  const found = ribbon.data.value;
  const bin = (number) => openSlot({ schedule: row.name, from: found.scale.since + number * found.scale.step, until: found.scale.since + (number + 1) * found.scale.step });
  const chosen = (from, until) => from * 1000 < now() && backfill(row, { start: from * 1000, end: Math.min(until * 1000, now()) });
  const times = html`<${Choices} label="Time" options=${Object.entries(RANGES).map(([code, { word }]) => [code, word])} value=${hours} change=${(code) => refine({ hours: code })} />`;
  return html`
    <${Panel} title="Every slot" about=${`in ${zone.get()}`} aside=${times}>
      ${ribbon.problem.value && html`<${Failure} problem=${ribbon.problem.value} again=${ribbon.load} />`}
      ${found ? html`<div class="one-ribbon"><${Axis} scale=${found.scale} /><${Ribbon} label=${row.name} bins=${found.bins} scale=${found.scale} open=${bin} select=${may("operator", row.job) && row.kind === "start" ? chosen : undefined} /></div>` : html`<${Loading} rows=${1} high=${70} />`}
      <${Legend} /><${Reading} /><//>
    <div class="columns">
      <${Panel} title="By day">${month.data.value ? html`<${Calendar} first=${month.data.value.since} days=${byDay(month.data.value)} chosen=${day} choose=${setDay} />` : html`<${Loading} high=${300} />`}<//>
      <${TrendPanel} page=${page} row=${row} live=${live} /></div>
    <${SlotList} page=${page} row=${row} live=${live} day=${day} all=${() => setDay(null)} />`;
}

function TrendPanel({ page, row, live }) {
  const runs = useResource(page, async (signal) => (await get("runs", { schedule: row.name, limit: TREND }, signal)).items, live);
  return html`<${Panel} title="How long, how late">${runs.data.value
    ? html`<${Trend} runs=${runs.data.value} every=${paceOf(row)} open=${(run) => go(["runs", run.id])} />`
    : html`<${Loading} high=${240} />`}<//>`;
}

/** Slots with what became of them, the newest first; of a day, if one is chosen. */
function SlotList({ page, row, live, day, all }) {
  const [limit, setLimit] = useState(LISTED);
  const path = `schedules/${encodeURIComponent(row.name)}/slots`;
  const bounds = day ? { since: iso(day), until: iso(Math.min(day + DAY, Math.ceil(now() / 1000))) } : {};
  const found = useResource(page, (signal) => get(path, { ...bounds, limit }, signal), live, [day, limit]);
  const { data, problem } = found;
  const about = day ? `on ${stamp(day * 1000).slice(0, -9)}` : "the newest first";
  return html`<${Panel} title="Slots" about=${about} aside=${day && html`<${Button} kind="chip" act=${all}>all days ×<//>`}>
    ${problem.value && html`<${Failure} problem=${problem.value} again=${found.load} />`}
    ${!data.value ? html`<${Loading} /> ` : data.value.items.length ? html`<${SlotTable} row=${row} items=${data.value.items} />` : html`<${Empty} text="No slots here." />`}
    ${data.value?.next && html`<${Button} kind="quiet" act=${() => setLimit(limit + 100)}>Show more<//>`}<//>`;
}

const SlotTable = ({ row, items }) => html`<table class="plain rows" aria-label="Slots"><thead><tr>
    <th scope="col">Slot (${zone.get()})</th><th scope="col">What became of it</th><th scope="col" class="grow">Why</th><th scope="col">Run</th><th scope="col" class="number">Took</th></tr></thead>
  <tbody>${items.map((one) => html`<tr key=${one.slot}>
    <td data-title="Slot"><div><button type="button" class="link whole" onClick=${() => openSlot({ schedule: row.name, slot: one.slot })}><${Time} at=${one.slot} /></button></div></td>
    <td data-title="State"><div class="slot-state"><i class=${slotClass(one)} data-state=${one.state} data-count=${one.count} />${slotWords(one)}${one.count > 1 && `, ${one.count} slots`}</div></td>
    <td data-title="Why" class="grow"><div><${Sentence} text=${one.text} /></div></td>
    <td data-title="Run"><div>${one.run && html`<${RunLink} id=${one.run} />`}</div></td>
    <td data-title="Took" class="number"><div>${one.started_at && one.finished_at && span(Date.parse(one.finished_at) - Date.parse(one.started_at))}</div></td></tr>`)}</tbody></table>`;

export function RunsTab({ page, row }) {
  const live = { on: ["run"], concerns: concerning(row), calm: CALM };
  const found = useResource(page, async (signal) => (await get("runs", { job: row.job, limit: 60 }, signal)).items.filter((run) => run.schedule === row.name || !run.schedule), live);
  const { data, problem } = found;
  return html`<${Panel} title="History" aside=${html`<${Link} parts=${["runs"]} query=${{ q: `job:${row.job}` }}>All runs of the job<//>`}>
    ${problem.value && html`<${Failure} problem=${problem.value} again=${found.load} />`}
    ${!data.value ? html`<${Loading} />` : data.value.length ? html`<${RunTable} runs=${data.value} />` : html`<${Empty} text="No runs yet." />`}<//>`;
}

const RunTable = ({ runs }) => html`<table class="plain rows" aria-label="History"><thead><tr><th scope="col">Run</th><th scope="col">State</th><th scope="col">Slot or due (${zone.get()})</th><th scope="col">Trigger</th><th scope="col" class="grow">Error</th><th scope="col" class="number">Took</th></tr></thead>
  <tbody>${runs.map((run) => html`<tr key=${run.id}>
    <td data-title="Run"><div><${Link} parts=${["runs", run.id]} kind="mono whole">#${run.id}<//></div></td>
    <td data-title="State"><div><${Badge} state=${run.state} />${run.attempt > 1 && html`<span class="faint"> attempt ${run.attempt}</span>`}</div></td>
    <td data-title="Slot"><div><${Time} at=${run.slot ?? run.due_at} /></div></td><td data-title="Trigger" class=${run.trigger === "schedule" ? "usual" : ""}><div>${run.trigger}${run.by && html`<span class="faint"> by ${run.by}</span>`}</div></td>
    <td data-title="Error" class="grow"><div class="problem">${run.error && briefError(run.error)}</div></td>
    <td data-title="Took" class="number"><div>${run.started_at && run.finished_at && span(Date.parse(run.finished_at) - Date.parse(run.started_at))}</div></td></tr>`)}</tbody></table>`;
