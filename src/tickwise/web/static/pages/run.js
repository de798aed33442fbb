/** One run: what became of it, step by step, with its log as it comes. */

import { get } from "../api.js";
import { whyOf } from "../decisions.js";
import { h, put } from "../dom.js";
import { gantt, graph } from "../graph.js";
import { icon } from "../icons.js";
import { jsonView } from "../json.js";
import { logView } from "../log.js";
import {
  badge,
  duration,
  facts,
  heading,
  inZone,
  lateness,
  loading,
  panel,
  scheduleLink,
  table,
  words,
} from "../parts.js";
import { to } from "../routes.js";
import { isActive, runButtons } from "../runactions.js";
import { everySecond, now, span, timeAt } from "../time.js";

const LOOK_EVERY = 1000;

export const title = ({ id }) => `Run #${id}`;

export async function show(page) {
  const shown = new RunPage(page);
  page.view.append(...shown.nodes());
  page.listen("run", (runs) => runs.some((one) => one.id === page.params.id) && shown.again());
  page.listen("reset", shown.again);
  page.every(LOOK_EVERY, () => shown.run?.state === "running" && shown.again());
  page.ready(() => shown.loadWhy());
  await shown.load();
}

class RunPage {
  run = null;
  #over = false; // whether its log has ended

  constructor(page) {
    const part = (kind) => h("div", { class: kind });
    this.id = page.params.id;
    this.path = `runs/${encodeURIComponent(this.id)}`;
    this.signal = page.signal;
    this.again = page.calmly(() => this.load());
    this.head = h("div", {}, heading(title(page.params)), loading(3));
    this.log = h("div", {}, this.logView());
    this.parts = { life: part(), steps: part("stack"), attempts: part(), data: part(), why: part() };
  }

  nodes() {
    const { life, steps, attempts, data, why } = this.parts;
    return [this.head, life, steps, panel("Log", { wide: true }, this.log), attempts, data, why];
  }

  logView() {
    this.#over = false;
    return logView(this.id, this.signal, () => {
      this.#over = true;
      this.again();
    });
  }

  async load() {
    const [run, steps, attempts] = await Promise.all([
      get(this.path, {}, this.signal),
      get(`${this.path}/steps`, {}, this.signal),
      get(`${this.path}/attempts`, {}, this.signal),
    ]);
    const before = this.run ?? run;
    const isNew = before === run || before.state !== run.state;
    this.run = run;
    put(this.head, headOf(run, steps.items, this.again));
    put(this.parts.life, lifeOf(run, attempts.items));
    put(this.parts.steps, steps.items.length > 1 && stepsOf(steps.items));
    put(this.parts.attempts, attempts.items.length > 0 && attemptsOf(attempts.items));
    if (isNew) put(this.parts.data, dataOf(run));
    if (this.#over && run.attempt > before.attempt) put(this.log, this.logView()); // it was put back
  }

  async loadWhy() {
    put(this.parts.why, panel("Why it ran", {}, whyOf(await get(`${this.path}/why`, {}, this.signal))));
  }
}

function headOf(run, steps, changed) {
  const late = lateness(run);
  return [
    heading(
      [
        h("span", { class: "faint" }, `Run #${run.id} of `),
        h("a", { href: to(["runs"], { job: run.job }) }, run.job),
      ],
      runButtons(run, changed, steps.length > 1),
    ),
    h("p", { class: "lead", "aria-live": "polite" },
      badge(run.state),
      run.cancelling && isActive(run) && h("span", { class: "tag" }, "asked to end"),
      " ",
      timing(run),
    ),
    run.error && h("div", { class: "failure", role: "alert" },
      icon("failed"),
      h("pre", { class: "error-text" }, run.error),
    ),
    run.waits.map((text) => h("div", { class: "warning" }, icon("queued"), h("div", {}, text))),
    facts([
      ["Schedule", run.schedule ? scheduleLink(run.schedule) : "none"],
      ["Slot", run.slot ? [timeAt(run.slot, { label: true }), inZone(run.slot, run.timezone)] : "none"],
      ["Trigger", [run.trigger_label, run.by && ` by ${run.by}`]],
      late !== null && ["Late by", span(late)],
      ["Attempt", String(run.attempt)],
      ["Worker", run.worker],
      ["Queue", `${run.queue}${run.priority ? `, priority ${run.priority}` : ""}`],
      run.key && ["Key", run.key],
    ]),
  ];
}

const timing = (run) =>
  run.state === "running" ? everySecond(
    h("span", {}),
    () => `for ${span(now() - Date.parse(run.started_at))}`,
  ) : duration(run) && h("span", {}, `took ${duration(run)}`);

/** The states that it went through, in order. */
function lifeOf(run, attempts) {
  const moments = [["made", run.created_at], ["due", run.due_at]];
  for (const one of attempts) {
    if (one.started_at) moments.push([`attempt ${one.number} began`, one.started_at]);
    moments.push([words(one.event), one.finished_at]);
  }
  if (run.started_at) moments.push([attempts.length ? `attempt ${run.attempt} began` : "started", run.started_at]);
  if (run.finished_at) moments.push([run.state, run.finished_at]);
  const ordered = moments.filter(
    ([, at]) => Date.parse(at) <= now() + 1000 || moments.length < 3,
  ).sort((a, b) => Date.parse(a[1]) - Date.parse(b[1]));
  return h("ol", { class: "life", "aria-label": "States over time" },
    ordered.map(([word, at], place) => h("li", { class: `is-${word}` },
      h("strong", {}, word),
      h("span", { class: "faint" }, timeAt(at)),
      place > 0 && h("span", { class: "after" }, `+ ${span(Date.parse(at) - Date.parse(ordered[place - 1][1]))}`),
    )),
  );
}

const stepsOf = (steps) => {
  const wrong = steps.filter((step) => step.error);
  return [
    panel("Steps", { wide: true },
      graph(steps),
      wrong.map((step) => h("p", { class: "step-error" }, h("strong", {}, step.name), ": ", step.error)),
    ),
    panel("Steps over time", { wide: true }, gantt(steps)),
  ];
};

const attemptsOf = (attempts) =>
  panel("Earlier attempts", { wide: true },
    table(
      "Earlier attempts",
      [
        ["Attempt", (one) => String(one.number)],
        ["Ended by", (one) => words(one.event)],
        ["From", (one) => timeAt(one.started_at)],
        ["To", (one) => timeAt(one.finished_at)],
        ["Worker", (one) => one.worker ?? ""],
        ["Error", (one) => one.error, "grow"],
      ],
      attempts,
    ),
  );

const dataOf = (run) =>
  h("div", { class: "columns" },
    panel("Params", {}, jsonView("Params", run.params)),
    panel("Result", {}, run.result === null ? h("p", { class: "faint" }, "none") : jsonView("Result", run.result)),
  );
