/** The events of a schedule: what came, and what became of each. */

import { get, may, send } from "./api.js";
import { Button, Empty, Failure, Loading, Panel, RunLink, Sentence, Time } from "./components.js";
import { ask } from "./dialog.js";
import { parseExact } from "./exactjson.js";
import { Field, TextArea } from "./fields.js";
import { JsonTree } from "./jsontree.js";
import { html, useState } from "./preact.js";
import { useResource } from "./resource.js";
import { concerning } from "./schedule.js";
import { openSlot } from "./slotpanel.js";
import { STATES } from "./slots.js";
import { zone } from "./time.js";
import { toast } from "./toasts.js";

const CALM = 1500;
const LISTED = 20;
const MOST = 1000;
const WORDS = { ...STATES, waiting: "waits", collecting: "waits for others", succeeded: "ran", decided: "decided" };
const LOOKS = { collecting: "waiting", succeeded: "ran", queued: "waiting", decided: "skipped", lost: "failed", cancelled: "skipped" };

/** Drawn for a schedule that runs on events. */
export function EventsPanel({ page, row }) {
  const [limit, setLimit] = useState(LISTED);
  const path = `schedules/${encodeURIComponent(row.name)}/events`;
  const found = useResource(page, async (signal) => (await get(path, { limit: Math.min(limit + 1, MOST) }, signal)).items,
    { on: ["run", "decision", "schedule"], concerns: concerning(row), calm: CALM }, [limit]);
  const { data, problem } = found;
  const sending = may("operator", row.job) && html`<${Button} icon="plus" act=${async () => (await sendEvent(row.name, path)) && found.load()}>Send an event<//>`;
  return html`<${Panel} title="Events" about="the newest first" aside=${sending}>
    ${problem.value && html`<${Failure} problem=${problem.value} again=${found.load} />`}
    ${!data.value ? html`<${Loading} />` : data.value.length ? html`<${EventTable} row=${row} items=${data.value.slice(0, limit)} />` : html`<${Empty} text="No event has come yet." />`}
    ${data.value?.length > limit && html`<${Button} kind="quiet" act=${() => setLimit(limit + 100)}>Show more<//>`}<//>`;
}

const EventTable = ({ row, items }) => html`<table class="plain rows" aria-label="Events"><thead><tr>
    <th scope="col">Received (${zone.get()})</th><th scope="col">Event</th><th scope="col">What became of it</th><th scope="col" class="grow">Why</th><th scope="col">Run</th></tr></thead>
  <tbody>${items.map((one) => html`<tr key=${`${one.key} ${one.received_at}`}>
    <td data-title="Received"><div><${Time} at=${one.received_at} /></div></td>
    <td data-title="Event"><div><${Told} one=${one} /></div></td>
    <td data-title="State"><div class="slot-state"><i class=${`slot is-${LOOKS[one.state] ?? one.state}`} data-state=${one.state} /><${State} row=${row} one=${one} /></div></td>
    <td data-title="Why" class="grow"><div><${Sentence} text=${one.text} /></div></td>
    <td data-title="Run"><div>${one.run && html`<${RunLink} id=${one.run} />`}</div></td></tr>`)}</tbody></table>`;

function State({ row, one }) {
  const word = WORDS[one.state] ?? one.state;
  return one.slot ? html`<button type="button" class="link" onClick=${() => openSlot({ schedule: row.name, slot: one.slot })}>${word}</button>` : word;
}

/** What it is, in a few words: the runs that have ended, the file, or its key with its data. */
function Told({ one: { source, key, data } }) {
  if (source === "end" && Array.isArray(data?.runs)) return data.runs.map((run) => html`<span key=${run.run}><${RunLink} id=${run.run} /> of ${run.job} ${run.state}<br /></span>`);
  if (source === "file" && data?.path) return html`<code class="mono">${data.path}</code> <span class="faint">${data.size} bytes</span>`;
  const name = html`<code class="mono">${key}</code> <span class="faint">${source}</span>`;
  return data === null ? name : html`<details><summary>${name}</summary><${JsonTree} label=${`Data of ${key}`} value=${data} /></details>`;
}

const sendEvent = (name, path) =>
  ask({
    title: `Send an event to ${name}`,
    body: html`<${Field} label="Key" name="key" maxlength="200" hint="The same key within the window is the same event. Left out: an event of its own." />
      <${TextArea} label="Data" name="data" rows="4" hint="JSON, or nothing" />`,
    confirm: "Send",
    act: async ({ key, data }) => {
      const stored = await send("POST", path, { ...(key && { key }), ...(data?.trim() && { data: parsed(data) }) });
      toast(`${name} has the event ${stored.key}.`);
      return true;
    },
  });

function parsed(text) {
  try {
    return parseExact(text);
  } catch (error) {
    throw new Error(`The data: this is not JSON: ${error.message}`);
  }
}
