/** Who does the work, and how much of it at once. */

import { get, mayAll, send } from "../api.js";
import { ask } from "../dialog.js";
import { h, put } from "../dom.js";
import { field } from "../fields.js";
import { badge, button, empty, heading, link, loading, panel, table } from "../parts.js";
import { say } from "../say.js";
import { countdown } from "../time.js";

const LOOK_EVERY = 5000;
const NOBODY = () => empty("No processes are running.", "Start one: tickwise serve.");

export const title = () => "Workers and queues";

export async function show(page) {
  const workers = h("div", {}, loading(3));
  const queues = h("div", {}, loading(2));
  page.view.append(
    heading("Workers and queues"),
    panel("Processes", { wide: true, about: "live, or seen in the last 24 hours" }, workers),
    panel("Queues", { wide: true }, queues),
  );
  async function load() {
    const [found, lines] = await Promise.all([get("workers", {}, page.signal), get("queues", {}, page.signal)]);
    put(workers, found.items.length ? workerTable(found.items) : NOBODY());
    put(
      queues,
      lines.items.length ? queueTable(lines.items, load) : empty(
        "No queues in use.",
        "Workers serve the queue default, unless configured otherwise.",
      ),
    );
  }
  page.every(LOOK_EVERY, page.calmly(load));
  await load();
}

const workerTable = (workers) =>
  table(
    "Processes",
    [
      ["State", (one) => badge(one.live ? "succeeded" : "lost", one.live ? "live" : "gone")],
      ["Host", (one) => [h("strong", {}, one.host), h("span", { class: "faint" }, ` ${one.pid}`)]],
      ["Roles", (one) => one.roles.join(", ")],
      ["Queues", (one) => one.queues.join(", ")],
      ["Busy", (one) => (one.capacity ? load(one) : "–")],
      ["Seen", (one) => countdown(one.seen_at)],
      ["Last pass", (one) => countdown(one.passed_at)],
      ["Up", (one) => countdown(one.started_at)],
      ["Version", (one) => one.version],
      ["Problems", (one) => one.problems.map((text) => h("div", { class: "problem" }, text))],
    ],
    workers,
  );

const load = (one) => h("span", { class: "load" },
  h("meter", { min: 0, max: one.capacity, value: one.busy, "aria-label": "busy" }),
  ` ${one.busy} of ${one.capacity}`,
);

const queueTable = (queues, changed) =>
  table(
    "Queues",
    [
      ["Queue", (one) => h("strong", {}, one.name)],
      ["Running", (one) => link(["runs"], String(one.running), { queue: one.name, state: "running" }), "number"],
      ["Queued", (one) => link(["runs"], String(one.waiting), { queue: one.name, state: "queued" }), "number"],
      ["Workers", (one) => (one.workers ? String(one.workers) : badge("failed", "no worker")), "number"],
      ["Max running", (one) => String(one.concurrency ?? "no limit")],
      ["Max starts per second", (one) => String(one.starts_per_second ?? "no limit")],
      [
        "",
        (one) => mayAll("admin") && button(
          "Limit",
          async () => (await limit(one)) && changed(),
          { kind: "quiet" },
        ),
      ],
    ],
    queues,
  );

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
      const set = await send(
        "PUT",
        `queues/${encodeURIComponent(queue.name)}`,
        { concurrency: read(atOnce), starts_per_second: read(starts) },
      );
      say(`The limits of ${queue.name} are set.`);
      return set;
    },
  });
}
