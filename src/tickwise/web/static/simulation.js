/** What if it had been down: what became of the slots, and below what would have become of them, by the real planner. */

import { get, send } from "./api.js";
import { Badge, Empty, Failure, Loading, Panel, Table, Time, words } from "./components.js";
import { valuesOf } from "./dialog.js";
import { Field } from "./fields.js";
import { html, useState } from "./preact.js";
import { useResource } from "./resource.js";
import { Axis, Legend, Reading, Ribbon } from "./ribbon.js";
import { paceOf, scaleOf } from "./slots.js";
import { instantOf, localText, now, span, zone } from "./time.js";

const HOUR = 3_600_000;
const SHOWN = 500; // rows
const WEEK = 168; // hours
const FAST = 9000; // milliseconds between slots, below which a day has too many
const STATES = { fired: "ran", caught_up: "ran", deferred: "waiting" };
const TIME = { size: "17", required: true };

/** A day, or an hour of a schedule that is fast, with an outage in its middle. */
function firstQuestion(row) {
  const long = paceOf(row) < FAST ? HOUR : 24 * HOUR;
  const end = Math.ceil(now() / 60_000) * 60_000;
  return { start: end - long, end, down: [end - long / 2, end - long / 4], takes: null };
}

export function SimulationTab({ page, row }) {
  const [asked, setAsked] = useState(() => firstQuestion(row));
  const [wrong, setWrong] = useState(null);
  const found = useResource(page, async (signal) => {
    const takes = asked.takes ?? await usualLength(row.name, signal);
    const scale = scaleOf(asked.start / 1000, asked.end / 1000);
    const [played, real] = await Promise.all([
      send("POST", "simulate", questionOf(row, asked, takes), { signal }),
      get("slots", { job: row.job, since: iso(scale.since * 1000), until: iso(scale.until * 1000), bins: scale.bins, limit: 200 }, signal).catch(() => ({ items: [] })),
    ]);
    return { takes, scale, items: played.items, real: real.items.find(({ name }) => name === row.name)?.bins ?? [] };
  }, {}, [JSON.stringify(asked)]);
  const submit = (event) => {
    event.preventDefault();
    try {
      const { start, end, from, until, takes } = valuesOf(event.target);
      const at = (text) => Date.parse(instantOf(text));
      setAsked({ start: at(start), end: at(end), down: [at(from), at(until)], takes: takes.trim() });
      setWrong(null);
    } catch (problem) {
      setWrong(problem);
    }
  };
  const drag = (from, until) => setAsked({ ...asked, down: [from * 1000, until * 1000] });
  const { data, problem } = found;
  const when = `(${zone.get()})`;
  return html`<${Panel} title="What if it had been down?" about="nothing is run">
    <form class="row" key=${`${JSON.stringify(asked)} ${data.value?.takes}`} onSubmit=${submit}>
      <${Field} ...${TIME} label=${`From ${when}`} name="start" value=${localText(asked.start)} /><${Field} ...${TIME} label=${`To ${when}`} name="end" value=${localText(asked.end)} />
      <${Field} ...${TIME} label=${`Down from ${when}`} name="from" value=${localText(asked.down[0])} /><${Field} ...${TIME} label=${`Up again ${when}`} name="until" value=${localText(asked.down[1])} />
      <${Field} label="A run takes" name="takes" size="8" placeholder="20m" value=${asked.takes ?? data.value?.takes ?? ""} />
      <button type="submit" class="button primary">Simulate</button></form>
    ${(wrong ?? problem.value) && html`<${Failure} problem=${wrong ?? problem.value} />`}
    ${data.value ? html`<${Ribbons} row=${row} asked=${asked} found=${data.value} drag=${drag} />` : !problem.value && html`<${Loading} rows=${4} />`}<//>
  ${data.value && html`<${Panel} title="What would have become of its slots"><${Verdicts} items=${data.value.items} /><//>`}`;
}

const iso = (instant) => new Date(instant).toISOString();

const questionOf = (row, { start, end, down }, takes) => ({
  schedule: row.name, start: iso(start), end: iso(end), down: [{ start: iso(down[0]), end: iso(down[1]) }], ...(takes ? { run_time: takes } : {}),
});

function Ribbons({ row, asked, found, drag }) {
  const { scale, items, real } = found;
  const shade = asked.down.map((instant) => instant / 1000);
  return html`<div class="ribbons is-pair" role="group" aria-label="Simulation">
    <div class="ribbon-row ribbon-head"><div /><div class="ribbon-lane"><${Axis} scale=${scale} /></div></div>
    <div class="ribbon-row"><div class="ribbon-name"><strong>as it was</strong><span class="faint">real</span></div><div class="ribbon-lane"><${Ribbon} label=${row.name} bins=${real} scale=${scale} select=${drag} /></div></div>
    <div class="ribbon-row"><div class="ribbon-name"><strong>with the outage</strong><span class="faint">simulated</span></div><div class="ribbon-lane"><${Ribbon} label=${`${row.name}, simulated`} bins=${binsOf(items, scale)} scale=${scale} select=${drag} shade=${shade} /></div></div></div>
    <p class="faint">Drag over a ribbon to move the outage.</p><${Legend} /><${Reading} />`;
}

const stateOf = ({ verdict, run }) => (run && run.outcome && run.outcome !== "succeeded" ? "failed" : STATES[verdict] ?? "skipped");

/** Simulated slots in bins, as the server counts real ones. */
function binsOf(items, { since, step }) {
  const bins = new Map();
  for (const one of items) {
    const number = Math.floor((Date.parse(one.slot) / 1000 - since) / step);
    const counts = bins.get(number) ?? {};
    counts[stateOf(one)] = (counts[stateOf(one)] ?? 0) + 1;
    bins.set(number, counts);
  }
  return [...bins].sort((a, b) => a[0] - b[0]);
}

/** Slots one after the other that end alike are one row, so that what the outage did is seen beside what was before. */
function grouped(items) {
  const groups = [];
  for (const one of items) {
    const last = groups.at(-1);
    if (last && last.verdict === one.verdict && last.reason === one.reason) {
      last.until = one.slot;
      last.count += 1;
    } else groups.push({ ...one, until: one.slot, count: 1 });
  }
  return groups;
}

const columns = () => [
  [`Slots (${zone.get()})`, (one) => html`<${Time} at=${one.slot} />${one.count > 1 && html` – <${Time} at=${one.until} />`}`],
  ["Count", (one) => one.count.toLocaleString("en"), "number"],
  ["Verdict", (one) => html`<${Badge} state=${one.verdict} />`],
  ["Why", (one) => html`${words(one.reason)}${one.detail && one.count === 1 && html`<span class="faint"> ${one.detail}</span>`}`, "grow"],
  ["Starts", (one) => (one.run?.started_at ? `${span(Date.parse(one.run.started_at) - Date.parse(one.slot))} later` : "")],
];

function Verdicts({ items }) {
  if (!items.length) return html`<${Empty} text="No slots in that period." advice="Choose a longer time." />`;
  const counts = new Map();
  for (const { verdict } of items) counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  const groups = grouped(items);
  return html`<p class="counters">${[...counts].map(([verdict, count]) => html`<span class="counter" key=${verdict}><strong>${count.toLocaleString("en")}</strong> ${words(verdict)}</span>`)}</p>
    <div class="scroll-box" tabindex="0" role="region" aria-label="Simulated slots"><${Table} label="Simulated slots" columns=${columns()} rows=${groups.slice(0, SHOWN)} keyOf=${(one) => one.slot} /></div>
    ${groups.length > SHOWN && html`<p class="faint">and ${groups.length - SHOWN} more</p>`}`;
}

/** What its runs of the last week took on average, as people write it; empty if there was none. */
async function usualLength(name, signal) {
  const { items } = await get("hours", { schedule: name, hours: WEEK }, signal);
  let [count, sum] = [0, 0];
  for (const { runs, run_ms: mean } of items) {
    const ended = Object.values(runs).reduce((all, one) => all + one, 0);
    if (mean !== null) [count, sum] = [count + ended, sum + ended * mean];
  }
  return count ? `${Math.max(1, Math.round(sum / count / 1000))}s` : "";
}
