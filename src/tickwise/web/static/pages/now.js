/** The first page: what needs somebody, and every slot around now. */

import { backfill, pauseAll, resumeAll } from "../actions.js";
import { get, may, mayAll } from "../api.js";
import { attention, listNeeds, lookForNeeds, Remedy } from "../attention.js";
import { Resting } from "../blackouts.js";
import { Button, Choices, Countdown, Empty, Failure, Link, Loading, Panel, Sentence } from "../components.js";
import { Doctor } from "../doctor.js";
import { FirstRun } from "../firstrun.js";
import { html, shows, useEffect, useRef, useState } from "../preact.js";
import { useResource } from "../resource.js";
import { Axis, Legend, Reading, Ribbon } from "../ribbon.js";
import { filterOf, grouped, groupings, PAGE, readRibbons } from "../ribbongroups.js";
import { ProposalsPanel } from "../proposals.js";
import { refine } from "../routes.js";
import { closeSlot, openSlot, SlotPanel } from "../slotpanel.js";
import { RANGES, total, windowOf } from "../slots.js";
import { now, shortStamp, skew, span } from "../time.js";

const [FEW, ROWS] = [12, 40]; // rows that are asked for again often, and rows of a page
const [CALM, CALMER] = [3000, 10_000]; // milliseconds between two looks
const EVERY = 30_000;
const [SHOWN, MOST] = [6, 1000]; // needs
const MANY = 12; // schedules, from which on they can be grouped
const NARROW = 760; // pixels
const [LOW, TALL] = [46, 84]; // pixels of a row, on a desk and on a phone
const WORDS = { "": "one by one", prefix: "by prefix" };

export const title = () => "Now";

export const show = shows(Now);

function Now({ page }) {
  const [query, setQuery] = useState(page.query);
  const change = (changes) => (closeSlot(), refine(page.query, changes), setQuery({ ...page.query }));
  const overview = useResource(page, (signal) => get("overview", {}, signal), {
    on: ["run", "schedule"], calm: CALMER, every: EVERY,
  });
  useEffect(() => (listNeeds(SHOWN), () => listNeeds(0)), []);
  const found = overview.data.value;
  const schedules = attention.value?.schedules;
  return html`<${Head} overview=${found} changed=${() => (overview.load(), lookForNeeds())} />
    ${found && html`<${Resting} blackouts=${found.blackouts} />`}
    <${Needs} />
    <${ProposalsPanel} page=${page} />
    ${schedules === 0 ? html`<${FirstRun} />` : attention.value && html`<${Ribbons} key=${query.group} page=${page} query=${query} change=${change} schedules=${schedules} overview=${found} />`}
    ${attention.value && html`<${Doctor} page=${page} />`}
    <${SlotPanel} page=${page} changed=${lookForNeeds} />`;
}

/** One sentence, and what it stands for in numbers. */
function Head({ overview, changed }) {
  const found = attention.value;
  return html`<header class="page-head now-head"><h1 tabindex="-1" aria-live="polite">${found ? found.summary.replace(/\.$/, "") : "Now"}</h1>
      <div class="actions">${overview && mayAll("operator") && html`<${Everything} paused=${overview.paused} changed=${changed} />`}</div></header>
    <p class="summary">${found && overview ? html`<${Numbers} found=${found} overview=${overview} />` : " "}</p>`;
}

function Numbers({ found, overview }) {
  const { runs } = overview.counts;
  const part = (count, word, state) => html`<${Link} parts=${["runs"]} query=${{ q: `state:${state}` }}>${count.toLocaleString("en")} ${word}<//>`;
  return html`${found.well < found.schedules && html`${found.well.toLocaleString("en")} of ${found.schedules.toLocaleString("en")} schedules are as they should be · `}${part(runs.running ?? 0, "running", "running")}${" · "}${part(runs.queued ?? 0, "queued", "queued")}
    ${overview.oldest_waiting_at && html` for <${Countdown} at=${overview.oldest_waiting_at} />`}
    ${" · "}<${Link} parts=${["fleet"]}>${counted(overview.workers, "worker")}<//>`;
}

const counted = (count, word) => `${count || "no"} ${word}${count === 1 ? "" : "s"}`;

const Everything = ({ paused, changed }) =>
  paused
    ? html`<${Button} kind="primary" icon="runs" act=${async () => (await resumeAll()) && changed()}>Resume all<//>`
    : html`<${Button} icon="paused" act=${async () => (await pauseAll()) && changed()}>Pause all<//>`;

/** Causes, the worst first, each with its way out. */
function Needs() {
  const found = attention.value;
  if (!found || found.items.length < Math.min(found.count, SHOWN)) return html`<${Loading} rows=${2} />`;
  const items = [...found.items, ...ownNeeds()];
  if (!items.length) return null;
  const left = found.count - found.items.length;
  return html`<${Panel} title="Needs attention">
    <ul class="needs">${items.map((one) => html`<${Need} key=${`${one.kind} ${one.subject.name}`} need=${one} />`)}</ul>
    ${left > 0 && html`<${Button} kind="quiet" act=${() => listNeeds(MOST)}>Show ${left.toLocaleString("en")} more<//>`}<//>`;
}

function Need({ need }) {
  const { subject, text, detail, since, severity, actions } = need;
  const level = severity === "warning" ? "warning-level" : severity;
  const name = subject.kind === "schedule"
    ? html`<${Link} parts=${["schedules", subject.name]} kind="name">${subject.name}<//>`
    : html`<strong class="name">${subject.name}</strong>`;
  const [first, ...rest] = (detail ?? "").split("\n"); // an error in a file shows its line
  return html`<li class=${`need ${level}`}><i class="need-mark" role="img" aria-label=${severity} />
    <div class="need-text">${name} <${Sentence} text=${text} />${since && html`<span class="faint">, since ${briefly(since)}</span>`}
      ${first && html`<div class="faint"><${Sentence} text=${first} /></div>`}${rest.length > 0 && html`<pre>${rest.join("\n")}</pre>`}</div>
    <div class="actions">${actions.map((action) => html`<${Remedy} key=${action.label} action=${action} job=${subject.job ?? undefined} />`)}</div></li>`;
}

const briefly = (at) => shortStamp(at).replace(/^(\d\d:\d\d):\d\d$/, "$1");

/** What only this browser knows. */
const ownNeeds = () =>
  skew.get() ? [{
    kind: "clock", severity: "warning", actions: [], subject: { kind: "browser", name: "This computer's clock" },
    text: `is ${span(skew.get())} ${skew.get() > 0 ? "behind" : "ahead of"} the server's.`,
    detail: "Times here follow the server; set this computer's clock.",
  }] : [];

function Ribbons({ page, query, change, schedules }) {
  const hours = RANGES[query.hours] ? query.hours : "1";
  const by = query.group ?? "";
  const [pages, setPages] = useState(1);
  const rows = pages * (by ? PAGE : ROWS);
  const read = async (signal) => {
    const scale = windowOf(hours, now(), innerWidth < NARROW);
    const asked = { since: iso(scale.since), until: iso(scale.until), bins: scale.bins, text: query.text, label: query.label };
    return { ...(await readRibbons(asked, rows, signal)), scale };
  };
  const options = { on: ["run", "decision", "schedule", "schedule_deleted"], calm: schedules > FEW ? CALMER : CALM, every: EVERY };
  const slots = useResource(page, read, options, [hours, query.text, query.label, rows]);
  const last = useRef(null);
  last.current = slots.data.value ?? last.current; // while another range is on its way
  const found = last.current;
  const aside = html`<div class="now-tools">
    ${(query.text || query.label) && html`<${Button} kind="chip" icon="failed" act=${() => change({ text: "", label: "" })}>${query.text || query.label}<//>`}
    ${(schedules > MANY || by) && found && html`<${Grouping} items=${found.items} by=${by} change=${change} />`}
    <${Choices} label="Time" options=${Object.entries(RANGES).map(([code, { word }]) => [code, word])} value=${hours} change=${(code) => change({ hours: code })} /></div>`;
  return html`<${Panel} title="Every slot" about=${found && aboutOf(found, hours)} aside=${aside}>
    ${slots.problem.value && html`<${Failure} problem=${slots.problem.value} again=${slots.load} />`}
    ${by && found?.next && html`<p class="faint" role="status">Groups of the ${found.items.length.toLocaleString("en")} schedules that were read, the worst first; there are more.</p>`}
    ${!found ? html`<${Loading} rows=${6} high=${Math.min(schedules, rows) * (innerWidth < NARROW ? TALL : LOW)} />` : found.items.length ? html`<${Rows} found=${by ? { ...found, items: grouped(found.items, by) } : found} by=${by} change=${change} />` : html`<${Empty} text="No slots in this time." advice="Choose a longer time." />`}
    ${found?.next && html`<${Button} kind="quiet" act=${() => setPages(pages + 1)}>Show more<//>`}
    <${Legend} /><${Reading} /><//>`;
}

/** How schedules are put together: by prefix, or by a label that some of them have. */
function Grouping({ items, by, change }) {
  const offered = [...new Set(["", ...groupings(items), by])];
  return html`<label class="sort">Schedules <select aria-label="Group schedules" onChange=${(event) => change({ group: event.target.value })}>
    ${offered.map((one) => html`<option key=${one} value=${one} selected=${one === by}>${WORDS[one] ?? `by ${one.slice("label:".length)}`}</option>`)}</select></label>`;
}

function aboutOf({ totals, items, next }, hours) {
  const decided = total(totals) - (totals.to_come ?? 0);
  const share = (...states) => Math.round((100 * states.reduce((sum, state) => sum + (totals[state] ?? 0), 0)) / decided);
  if (!decided) return RANGES[hours].told;
  const parts = [["ran", share("ran", "ran_after_retries")], ["failed", share("failed")], ["skipped", share("skipped")]];
  const told = parts.filter(([, part]) => part > 0).map(([word, part]) => `${part} % ${word}`).join(", ");
  return `${decided.toLocaleString("en")} ${decided === 1 ? "slot" : "slots"}${next ? ` of these ${items.length.toLocaleString("en")} schedules` : ""} in ${RANGES[hours].told}${told ? `: ${told}` : ""}`;
}

const iso = (second) => new Date(second * 1000).toISOString();

function Rows({ found, by, change }) {
  const narrow = (item) => filterOf(item, by) && change({ text: "", label: "", ...filterOf(item, by), group: "" });
  const bin = (item, number) => ({ schedule: item.name, from: found.scale.since + number * found.scale.step, until: found.scale.since + (number + 1) * found.scale.step });
  const open = (item) => (number) => (by ? narrow(item) : openSlot(bin(item, number)));
  return html`<div class="ribbons">
    <div class="ribbon-row ribbon-head"><div /><div class="ribbon-lane"><${Axis} scale=${found.scale} /></div><div class="share">ran</div><div class="ribbon-count">slots</div></div>
    ${found.items.map((item) => html`<div class="ribbon-row" key=${item.name}>
      <div class="ribbon-name">${by
        ? html`<button type="button" class="link name" disabled=${!filterOf(item, by)} onClick=${() => narrow(item)}>${item.name || "without it"}</button><span class="faint">${counted(item.schedules, "schedule")}${found.next && " read"}</span>`
        : html`<${Link} parts=${["schedules", item.name]} kind="name">${item.name}<//><span class="faint">${item.paused ? "paused" : item.in_shadow ? "in shadow" : item.means}</span>`}</div>
      <div class="ribbon-lane"><${Ribbon} label=${item.name || "schedules without the label"} bins=${item.bins} scale=${found.scale} open=${open(item)} select=${!by && may("operator", item.job) ? (from, until) => backfillPast(item, from, until) : undefined} /></div>
      <${Share} good=${item.good} />
      <div class="ribbon-count">${(total(item.totals) - (item.totals.to_come ?? 0)).toLocaleString("en")}</div></div>`)}</div>`;
}

/** Backfill what was chosen of a ribbon, as far as it is past. */
function backfillPast(item, from, until) {
  if (from * 1000 < now()) backfill(item, { start: from * 1000, end: Math.min(until * 1000, now()) });
}

function Share({ good }) {
  if (good === null || good === undefined) return html`<div class="share faint">–</div>`;
  const percent = good === 1 ? 100 : Math.min(99, Math.round(good * 100));
  return html`<div class=${`share ${percent >= 95 ? "" : percent >= 50 ? "some" : "none"}`}>${percent} %</div>`;
}
