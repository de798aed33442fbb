/** Who does the work, and how much of it at once. */

import { get, mayAll, send } from "../api.js";
import { Badge, Button, Countdown, Empty, Failure, Heading, Link, Loading, Panel, Table, Time } from "../components.js";
import { untilOf, UntilField } from "../actions.js";
import { ask } from "../dialog.js";
import { Field } from "../fields.js";
import { html, shows } from "../preact.js";
import { useResource } from "../resource.js";
import { now, span } from "../time.js";
import { toast } from "../toasts.js";

const LOOK_EVERY = 5000;

export const title = () => "Workers and queues";

export const show = shows(Fleet);

function Fleet({ page }) {
  const read = (path) => async (signal) => (await get(path, {}, signal)).items;
  const workers = useResource(page, read("workers"), { every: LOOK_EVERY });
  const queues = useResource(page, read("queues"), { every: LOOK_EVERY });
  const problem = workers.problem.value ?? queues.problem.value;
  return html`<${Heading} title="Workers and queues" />
    ${problem && html`<${Failure} problem=${problem} again=${() => (workers.load(), queues.load())} />`}
    <${Panel} title="Processes" about="live, or seen in the last 24 hours">${shown(workers.data.value, WORKER, "Processes", "No processes are running.", "Start one: tickwise serve.")}<//>
    ${workers.data.value && html`<${Panel} title="Queues">${shown(queues.data.value, queueColumns(queues.load), "Queues", "No queues in use.", "Workers serve the queue default, unless configured otherwise.")}<//>`}`;
}

function shown(rows, columns, label, none, advice) {
  if (!rows) return html`<${Loading} />`;
  if (!rows.length) return html`<${Empty} text=${none} advice=${advice} />`;
  return html`<${Table} label=${label} columns=${columns} rows=${rows} keyOf=${(row) => row.name ?? `${row.host} ${row.pid} ${row.started_at}`} />`;
}

const WORKER = [
  ["State", (one) => html`<${Badge} state=${one.live ? "succeeded" : "lost"}>${one.live ? "live" : "gone"}<//>`],
  ["Host", (one) => html`<strong>${one.host}</strong><span class="faint"> ${one.pid}</span>`],
  ["Roles", (one) => one.roles.join(", ")],
  ["Queues", (one) => one.queues.join(", ")],
  ["Busy", (one) => (one.capacity && one.live ? html`<span class="load"><meter min="0" max=${one.capacity} value=${one.busy} aria-label="busy" /> ${one.busy} of ${one.capacity}</span>` : "–")],
  ["Seen", (one) => html`<${Countdown} at=${one.seen_at} />`],
  ["Last pass", (one) => html`<${Countdown} at=${one.passed_at} />`],
  ["Up", (one) => (one.live ? span(now() - Date.parse(one.started_at)) : "–")],
  ["Version", (one) => one.version],
  ["Problems", (one) => one.problems.map((text) => html`<div class="problem">${text}</div>`)],
];

const count = (number, query) => html`<${Link} parts=${["runs"]} query=${{ q: query }}>${number}<//>`;

const queueColumns = (changed) => [
  ["Queue", (one) => html`<strong>${one.name}</strong>`],
  ["Running", (one) => count(one.running, `queue:${one.name} state:running`), "number"],
  ["Queued", (one) => count(one.waiting, `queue:${one.name} state:queued`), "number"],
  ["Workers", (one) => one.workers || html`<${Badge} state="failed">no worker<//>`, "number"],
  ["Max running", (one) => one.concurrency ?? "no limit"],
  ["Max starts per second", (one) => one.starts_per_second ?? "no limit"],
  ["Paused", (one) => one.paused && html`<${Badge} state="skipped">paused<//> by ${one.paused.by} ${one.paused.until ? html`until <${Time} at=${one.paused.until} label />` : html`<${Countdown} at=${one.paused.at} />`}<div class="faint">${one.paused.reason}</div>`],
  ["Change", (one) => html`${mayAll("operator") && html`<${Button} kind="quiet" act=${async () => (await (one.paused ? resume(one) : pause(one))) && changed()}>${one.paused ? "Resume" : "Pause"}<//>`}
    ${mayAll("admin") && html`<${Button} kind="quiet" act=${async () => (await limit(one)) && changed()}>Limit<//>`}`],
];

const path = (queue) => `queues/${encodeURIComponent(queue.name)}`;

const pause = (queue) =>
  ask({
    title: `Pause the queue ${queue.name}`,
    confirm: "Pause",
    body: html`<p>Nothing of it starts until you resume. What runs goes on.</p>
      <${Field} label="Reason" name="reason" maxlength="1000" /><${UntilField} />`,
    act: async ({ reason, until }) => {
      const paused = await send("POST", `${path(queue)}:pause`, { reason, until: untilOf(until) });
      toast(`The queue ${queue.name} is paused.`);
      return paused;
    },
  });

async function resume(queue) {
  const resumed = await send("POST", `${path(queue)}:resume`).catch((problem) => void toast(problem.message, "wrong"));
  if (resumed) toast(`The queue ${queue.name} is resumed.`);
  return resumed;
}

const LIMIT = { type: "number", min: "0", step: "any" };

const limit = (queue) =>
  ask({
    title: `Limit the queue ${queue.name}`,
    confirm: "Set",
    body: html`<p>For the whole fleet. If empty: no limit.</p>
      <${Field} label="Max running" name="running" value=${queue.concurrency ?? ""} ...${LIMIT} />
      <${Field} label="Max starts per second" name="starts" value=${queue.starts_per_second ?? ""} ...${LIMIT} />`,
    act: async ({ running, starts }) => {
      const read = (text) => (text === "" ? null : Number(text));
      const set = await send("PUT", path(queue), { concurrency: read(running), starts_per_second: read(starts) });
      toast(`The limits of ${queue.name} are set.`);
      return set;
    },
  });
