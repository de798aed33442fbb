/** Why a slot ran or did not, beside the page that it was chosen on, with what can be done about it. */

import { resume, skip, takeSkipBack, trigger } from "./actions.js";
import { get, may, send } from "./api.js";
import { Badge, Button, Failure, Icon, Link, Loading, RunLink, Sentence, Time } from "./components.js";
import { Drawer } from "./drawer.js";
import { html, signal, useEffect, useState } from "./preact.js";
import { useResource } from "./resource.js";
import { to } from "./routes.js";
import { cancel, canRetry, retry } from "./runactions.js";
import { slotClass, slotWords, worstSlot } from "./slots.js";
import { clock, now, span, wall, zone } from "./time.js";
import { toast } from "./toasts.js";
import { WhatIf } from "./whatif.js";

const MARKS = { yes: "succeeded", no: "failed", wait: "queued", do: "running" };
const MOST = 500; // slots of a bin that are listed
const CALM = 1500;
const TOLD = /^(Next|Run \d+ |It said: )/; // notes that the chain has, too
const OFFERED = /tickwise runs (logs|retry)/; // advice for a shell, of which the page has a button

/** What is open: a schedule with a slot, or with the seconds `from` and `until` of a bin; null if nothing. */
const opened = signal(null);

export const openSlot = (chosen) => (opened.value = chosen);

export const closeSlot = () => (opened.value = null);

/** Drawn once on a page; `changed` is called when something was done. */
export function SlotPanel({ page, changed }) {
  const chosen = opened.value;
  useEffect(() => () => closeSlot(), []); // another page begins without
  return chosen && html`<${Opened} key=${`${chosen.schedule} ${chosen.slot ?? chosen.from}`} page=${page} chosen=${chosen} changed=${changed} />`;
}

function Opened({ page, chosen, changed }) {
  const [slot, choose] = useState(chosen.slot ?? null);
  const title = html`<${Link} parts=${["schedules", chosen.schedule]} kind="name">${chosen.schedule}<//> <span class="faint">${when(chosen, slot)}</span>`;
  return html`<${Drawer} label=${`Slots of ${chosen.schedule}`} title=${title} close=${closeSlot}>
    ${!chosen.slot && html`<${Listed} page=${page} chosen=${chosen} slot=${slot} choose=${choose} />`}
    ${slot && html`<${Why} key=${slot} page=${page} schedule=${chosen.schedule} slot=${slot} changed=${changed} />`}<//>`;
}

function when({ from, until }, slot) {
  if (slot) return html`<${Time} at=${slot} label />`;
  return `${clock(from * 1000)} – ${clock(until * 1000)} ${zone.get()}`;
}

/** All slots of a bin, of which the worst is explained first. */
function Listed({ page, chosen, slot, choose }) {
  const found = useResource(page, async (signal) => {
    const query = { since: iso(chosen.from), until: iso(chosen.until), limit: MOST };
    const { items } = await get(`schedules/${encodeURIComponent(chosen.schedule)}/slots`, query, signal);
    if (!slot && items.length) choose(worstSlot(items).slot);
    return items;
  });
  if (found.problem.value) return html`<${Failure} problem=${found.problem.value} again=${found.load} />`;
  const items = found.data.value;
  if (!items) return html`<${Loading} rows=${2} />`;
  if (!items.length) return html`<p class="faint">No slots here any more.</p>`;
  return items.length > 1 && html`<ul class="drawer-slots" aria-label="Slots">${items.map((one) => html`<li key=${one.slot}>
    <button type="button" class="drawer-slot" aria-pressed=${String(one.slot === slot)} onClick=${() => choose(one.slot)}>
      <i class=${slotClass(one)} /><span>${seconds(one.slot)}</span><span>${told(one)}</span></button></li>`)}</ul>`;
}

const told = (one) => [slotWords(one), one.count > 1 && `${one.count} slots`, one.text].filter(Boolean).join(": ");

const seconds = (at) => {
  const { hour, minute, second } = wall(at);
  return `${hour}:${minute}:${second}`;
};

const iso = (second) => new Date(second * 1000).toISOString();

function Why({ page, schedule, slot, changed }) {
  const path = `schedules/${encodeURIComponent(schedule)}`;
  const concerns = (event) => event.schedule === schedule || event.name === schedule || event.job === schedule;
  const found = useResource(page, async (signal) => {
    const [why, row] = await Promise.all([
      get(`${path}/why`, { slot, zone: zone.get() }, signal),
      get(path, {}, signal),
    ]);
    return { why, row, run: why.run && await get(`runs/${why.run}`, {}, signal) };
  }, { on: ["run", "decision", "schedule"], concerns, calm: CALM });
  if (found.problem.value) return html`<${Failure} problem=${found.problem.value} again=${found.load} />`;
  if (!found.data.value) return html`<${Loading} />`;
  const { why, row, run } = found.data.value;
  const then = (act) => async () => (await act()) && (found.load(), changed?.());
  return html`
    <p class="why-verdict" aria-live="polite"><${Badge} state=${run ? run.state : why.verdict}>${why.verdict === "none" && Date.parse(slot) > now() ? "to come" : null}<//>
      ${run && html` <${RunLink} id=${run.id} />`}${run?.finished_at && run.started_at && html`<span class="faint"> took ${span(Date.parse(run.finished_at) - Date.parse(run.started_at))}</span>`}</p>
    ${run?.error ? html`<pre class="error-text">${firstLines(run.error)}</pre>` : html`<p><${Sentence} text=${upper(why.text)} /></p>`}
    <div class="actions">${remedies({ why, row, run, slot, then })}</div>
    ${!run && why.verdict !== "none" && Date.parse(slot) <= now() && html`<${WhatIf} page=${page} schedule=${schedule} slot=${slot} />`}
    <${Chain} why=${why} />
    ${why.notes.filter((note) => !TOLD.test(note)).map((note) => html`<p class="faint"><${Sentence} text=${note} /></p>`)}`;
}

const upper = (text) => text.charAt(0).toUpperCase() + text.slice(1);

const firstLines = (text) => text.split("\n").slice(0, 6).join("\n");

/** The way from the definition to the worker; its last advice stands below. */
export const Chain = ({ why }) => html`<ol class="chain">${why.chain.filter(({ text }) => !OFFERED.test(text)).map(({ what, text, mark }) =>
  html`<li class=${`is-${MARKS[mark]}`}><${Icon} name=${mark === "do" ? "moved" : MARKS[mark]} /><span class="faint">${what}</span><span><${Sentence} text=${text} /></span></li>`)}</ol>`;

/** Buttons instead of commands: what helps here, first. */
function remedies({ why, row, run, slot, then }) {
  const isPast = Date.parse(slot) <= now();
  const { name } = row;
  const isMarked = row.skips.some((one) => Date.parse(one.slot) === Date.parse(slot));
  return [
    run && html`<${Link} parts=${["runs", run.id]} kind="button">Open the run<//>`,
    ...(may("operator", row.job) ? [
      run && canRetry(run) && html`<${Button} kind="primary" act=${then(() => retry(run, false))}>Retry<//>`,
      run && ["queued", "running"].includes(run.state) && html`<${Button} kind="danger" act=${then(() => cancel(run))}>Cancel<//>`,
      row.paused && html`<${Button} kind="primary" act=${then(() => resume([name]))}>Resume<//>`,
      !run && !isPast && (isMarked
        ? html`<${Button} kind="primary" act=${then(() => takeSkipBack(name, slot))}>Let it run<//>`
        : html`<${Button} act=${then(() => skip(name, slot))}>Skip this slot<//>`),
      !run && isPast && row.kind === "start" && html`<${Button} act=${then(() => backfill(name, slot))}>Run this slot<//>`,
      row.kind === "start" && html`<${Button} act=${then(() => trigger([name]))}>Run now<//>`,
    ] : []),
    why.reason === "overlap" && html`<a class="button" href=${to(["schedules", name], { tab: "definition" })}>Change overlap<//>`,
    why.reason?.startsWith("dependency") && html`<a class="button" href=${to(["schedules", name], { tab: "definition" })}>What it waits for<//>`,
  ].filter(Boolean);
}

async function backfill(name, slot) {
  const end = new Date(Date.parse(slot) + 1000).toISOString();
  try {
    const { slots } = await send("POST", `schedules/${encodeURIComponent(name)}:backfill`, { start: slot, end, overlap: "queue", again: true });
    toast(slots.length ? "The slot will run." : "There is nothing to run for this slot.", slots.length ? "fine" : "wrong");
    return true;
  } catch (problem) {
    toast(problem.message, "wrong");
    return false;
  }
}
