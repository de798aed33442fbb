/** One schedule: what comes, what was, why, and what its definition means. */

import { get, getVersion } from "../api.js";
import { backfillPanel } from "../backfill.js";
import { DECISIONS, decisionTable, whyPanel } from "../decisions.js";
import { h, put } from "../dom.js";
import { facts, heading, loading, panel } from "../parts.js";
import { go } from "../routes.js";
import { comingOf, countersOf, definitionOf, headOf, historyOf, weekOf } from "../schedule.js";
import { simulationPanel } from "../simulation.js";
import { zone } from "../time.js";
import { policies } from "../words.js";

const HISTORY = 40; // runs that are shown
const COMING = 10;
const [WEEK, YEAR] = [168, 8784]; // hours
const CALM = 2000; // milliseconds between two looks

export const title = ({ name }) => name;

export async function show(page) {
  const shown = new SchedulePage(page);
  const { name } = shown;
  const again = page.calmly(() => shown.load(), CALM);
  page.view.append(...shown.nodes());
  for (const kind of ["run", "schedule", "decision"]) page.listen(
    kind,
    (events) => shown.concerns(events) && again(),
  );
  page.listen("schedule_deleted", (events) => events.some((one) => one.name === name) && go(["schedules"]));
  page.listen("reset", again);
  await shown.load();
}

class SchedulePage {
  #version = null; // the one that is shown

  constructor(page) {
    const part = () => h("div", {}, loading(3));
    this.signal = page.signal;
    this.name = this.job = page.params.name;
    this.path = `schedules/${encodeURIComponent(this.name)}`;
    this.head = h("div", {}, heading(this.name), loading(2));
    this.parts = { upcoming: part(), rules: part(), past: part(), decisions: part(), definition: part() };
    this.progress = backfillPanel(this.name, page);
  }

  nodes() {
    const { upcoming, rules, past, decisions, definition } = this.parts;
    const panels = [
      panel("Upcoming", { about: zone.get() }, upcoming),
      panel("Rules", {}, rules),
      panel("History", { wide: true }, past),
      panel("Decisions", { wide: true, about: "slots that did not run, or not on time" }, decisions),
      whyPanel(this.name),
      simulationPanel(this.name),
      panel("Definition", { wide: true }, definition),
    ];
    return [this.head, this.progress.node, h("div", { class: "columns" }, panels)];
  }

  concerns(events) {
    return events.some((one) => (one.schedule ?? one.name) === this.name || one.job === this.job);
  }

  async load() {
    const schedule = await this.loadItself();
    await Promise.all([this.loadTimes(schedule), this.loadPast()]);
  }

  async loadItself() {
    const { data, version } = await getVersion(this.path, this.signal);
    const changed = () => (this.progress.look(), this.load());
    this.job = data.job;
    put(this.head, headOf(data, version, changed));
    if (version !== this.#version) {
      put(this.parts.rules, facts(policies(data.definition)));
      put(this.parts.definition, definitionOf(data));
    }
    this.#version = version;
    return data;
  }

  async loadTimes(schedule) {
    const { items } = await get("upcoming", { schedule: this.name, hours: YEAR, limit: COMING }, this.signal);
    put(this.parts.upcoming, comingOf(schedule, items));
  }

  async loadPast() {
    const [runs, decided, hours] = await Promise.all([
      get("runs", { job: this.job, limit: HISTORY }, this.signal),
      get(`${this.path}/decisions`, { limit: DECISIONS }, this.signal),
      get("hours", { schedule: this.name, hours: WEEK }, this.signal),
    ]);
    const own = runs.items.filter((run) => run.schedule === this.name || !run.schedule);
    put(this.parts.past, countersOf(hours.items), weekOf(hours.items), historyOf(own, this.job));
    put(this.parts.decisions, decisionTable(decided));
  }
}
