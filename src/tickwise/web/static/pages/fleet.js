/** Who does the work, and how much of it at once. */

import { get, mayAll, send } from "../api.js";
import { ask } from "../dialog.js";
import { h } from "../dom.js";
import { field } from "../fields.js";
import { useResource } from "../resource.js";
import { say } from "../say.js";
import { Badge, Button, Countdown, Empty, Failure, Heading, Link, Loading, Panel } from "../ui.js";
import { html, shows } from "../view.js";

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
    <${Panel} title="Queues">${shown(queues.data.value, queueColumns(queues.load), "Queues", "No queues in use.", "Workers serve the queue default, unless configured otherwise.")}<//>`;
}

function shown(rows, columns, label, none, advice) {
  if (!rows) return html`<${Loading} />`;
  if (!rows.length) return html`<${Empty} text=${none} advice=${advice} />`;
  return html`<table class="plain" aria-label=${label}><thead><tr>${columns.map(([title, , kind]) => html`<th scope="col" class=${kind}>${title}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${row.id ?? row.name ?? `${row.host} ${row.pid} ${row.started_at}`}>${columns.map(([title, cell, kind]) => html`<td class=${kind} data-title=${title}><div>${cell(row)}</div></td>`)}</tr>`)}</tbody></table>`;
}

const WORKER = [
  ["State", (one) => html`<${Badge} state=${one.live ? "succeeded" : "lost"}>${one.live ? "live" : "gone"}<//>`],
  ["Host", (one) => html`<strong>${one.host}</strong><span class="faint"> ${one.pid}</span>`],
  ["Roles", (one) => one.roles.join(", ")],
  ["Queues", (one) => one.queues.join(", ")],
  ["Busy", (one) => (one.capacity && one.live ? html`<span class="load"><meter min="0" max=${one.capacity} value=${one.busy} aria-label="busy" /> ${one.busy} of ${one.capacity}</span>` : "–")],
  ["Seen", (one) => html`<${Countdown} at=${one.seen_at} />`],
  ["Last pass", (one) => html`<${Countdown} at=${one.passed_at} />`],
  ["Up", (one) => html`<${Countdown} at=${one.started_at} />`],
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
  ["Change", (one) => mayAll("admin") && html`<${Button} kind="quiet" act=${async () => (await limit(one)) && changed()}>Limit<//>`],
];

function limit(queue) {
  const number = (value) => h("input", { type: "number", min: "0", step: "any", value: value ?? "" });
  const [atOnce, starts] = [number(queue.concurrency), number(queue.starts_per_second)];
  const read = (input) => (input.value === "" ? null : Number(input.value));
  return ask({
    title: `Limit the queue ${queue.name}`,
    confirm: "Set",
    body: [
      h("p", {}, "For the whole fleet. If empty: no limit."),
      field("Max running", atOnce),
      field("Max starts per second", starts),
    ],
    act: async () => {
      const body = { concurrency: read(atOnce), starts_per_second: read(starts) };
      const set = await send("PUT", `queues/${encodeURIComponent(queue.name)}`, body);
      say(`The limits of ${queue.name} are set.`);
      return set;
    },
  });
}
