/** All schedules: found by name, paused and run in numbers. */

import { pause, resume, trigger } from "../actions.js";
import { get, may } from "../api.js";
import { h, put } from "../dom.js";
import { choices, refine, searchBox } from "../fields.js";
import { Pager } from "../pages.js";
import { badge, button, empty, failure, heading, lateness, scheduleLink, strip } from "../parts.js";
import { go, to } from "../routes.js";
import { countdown, span, timeAt, zone } from "../time.js";
import { virtualTable } from "../virtual.js";

const [FIRST, PAGE] = [100, 500]; // rows
const STRIP = 12; // runs shown of each
const MOST_AT_ONCE = 1000;
const CALM = 3000; // milliseconds between two looks
const STATES = [["", "all"], ["false", "active"], ["true", "paused"]];

export const title = () => "Schedules";

export async function show(page) {
  const list = new ScheduleList(page);
  page.view.append(...list.nodes());
  page.listen("schedule", (events) => list.take(events));
  page.listen("schedule_deleted", (gone) => list.forget(gone));
  page.listen("reset", () => list.again());
  page.listen("run", (runs) => list.takeRuns(runs));
  await list.restart();
}

class ScheduleList {
  #chosen = new Set();

  constructor(page) {
    this.query = page.query;
    this.again = page.calmly(() => this.list.restart(), CALM);
    this.wrong = h("div", {});
    this.bar = h("div", { class: "bulk", role: "group", "aria-label": "Selected schedules" });
    this.all = may("operator") && box("Select all", false, (yes) => this.chooseAll(yes));
    this.list = new Pager(
      (after) => get("schedules", { ...filters(this.query), after, limit: after ? PAGE : FIRST }, page.signal),
      () => this.draw(),
      (problem) => put(this.wrong, failure(problem, () => this.restart())),
    );
    this.rows = virtualTable({
      label: "Schedules",
      columns: columns(),
      row: (one) => this.row(one),
      more: () => this.list.more(),
      none: () => (this.list.done ? nothing(this.query) : "Loading …"),
    });
  }

  nodes() {
    const filter = (changes) => (refine(this.query, changes), this.restart());
    return [
      heading("Schedules", this.bar,
        may("admin") && h("a", { class: "button primary", href: to(["create"]) }, "New schedule"),
      ),
      h("div", { class: "filters" },
        this.all && h("label", { class: "check all" }, this.all, "all"),
        searchBox("Find a schedule or job", this.query.text, (text) => filter({ text })),
        choices("Which", STATES, this.query.paused ?? "", (paused) => filter({ paused })),
        labelBox(this.query, filter),
      ),
      this.wrong,
      this.rows.node,
    ];
  }

  restart() {
    this.#chosen.clear();
    const begun = this.list.restart();
    this.draw(); // none is chosen any longer, however long the new list takes
    return begun;
  }

  draw() {
    put(this.wrong);
    this.rows.show(this.list.items);
    put(this.bar, this.#chosen.size > 0 && this.bulk([...this.#chosen]));
    if (this.all) this.all.checked = this.list.items.length > 0 && this.#chosen.size >= this.list.items.length;
  }

  row(one) {
    const choose = (yes) => (yes ? this.#chosen.add(one.name) : this.#chosen.delete(one.name), this.draw());
    return h("tr", { class: one.paused ? "is-off" : "" },
      h("td", { class: "pick" }, may("operator") && box(`Select ${one.name}`, this.#chosen.has(one.name), choose)),
      h("td", { class: "grow" },
        scheduleLink(one.name),
        one.kind !== "start" && h("span", { class: "tag" }, one.kind),
        one.job !== one.name && one.kind === "start" && h("span", { class: "faint" }, ` of ${one.job}`),
      ),
      h("td", { class: "words", title: one.times }, one.means),
      h("td", { class: "when" }, next(one)),
      h("td", { class: "runs" }, strip(one.recent, STRIP)),
      h("td", { class: "number faint" }, one.late_ms === null ? "" : span(one.late_ms)),
    );
  }

  bulk(names) {
    const then = (act) => async () => (await act(names)) && this.restart();
    return [
      h("span", {}, `${names.length} selected`),
      button("Pause", then(pause), { name: "paused" }),
      button("Resume", then(resume)),
      button("Run now", then((given) => trigger(given)), { name: "runs" }),
      button("Clear selection", () => this.chooseAll(false), { kind: "quiet" }),
    ];
  }

  chooseAll(yes) {
    this.#chosen = new Set(yes ? this.list.items.slice(0, MOST_AT_ONCE).map((one) => one.name) : []);
    this.draw();
  }

  /** Put what was told into the list; one that should be in it and is not may be new. */
  take(events) {
    const places = new Map(this.list.items.map((one, place) => [one.name, place]));
    for (const one of events) if (places.has(one.name)) Object.assign(this.list.items[places.get(one.name)], one);
    const last = this.list.done ? null : this.list.items.at(-1)?.name;
    if (events.some(({ name }) => !places.has(name) && (last === null || name < last))) this.again();
    this.rows.show(this.list.items);
  }

  /** Let go of what was deleted; the others that somebody has chosen stay so. */
  forget(gone) {
    for (const { name } of gone) this.#chosen.delete(name);
    this.draw();
    this.again();
  }

  /** What was told of the last run of a schedule, or of one after it. */
  takeRuns(runs) {
    const listed = new Map(this.list.items.map((one) => [one.name, one]));
    for (const run of runs.toSorted((a, b) => Number(a.id) - Number(b.id))) {
      const one = listed.get(run.schedule);
      const newer = Number(run.id) - Number(one?.last_run_id ?? 0);
      if (!one || newer < 0) continue;
      one.recent = [...(newer ? one.recent : one.recent.slice(0, -1)), run.state].slice(-STRIP);
      one.last_run_id = run.id;
      one.late_ms = lateness(run) ?? one.late_ms;
    }
    this.rows.show(this.list.items);
  }
}

const columns = () => [
  ["", "pick"],
  ["Schedule", "grow"],
  ["When", "words"],
  [`Next (${zone.get()})`, "when"],
  ["Last runs", "runs"],
  ["Late", "number"],
];

const box = (label, checked, change) =>
  h("input", {
    type: "checkbox",
    checked,
    "aria-label": label,
    on: { change: (event) => change(event.target.checked) },
  });

const filters = ({ text, paused, label, job }) => ({ text, paused, label, job });

function labelBox(query, filter) {
  const input = h("input", {
    value: query.label ?? "",
    placeholder: "label=value",
    "aria-label": "Label",
    size: "14",
    autocomplete: "off",
    on: { change: () => filter({ label: input.value.trim() }) },
  });
  return input;
}

function next(one) {
  if (one.paused) return h("span", { title: one.paused.reason },
    badge("paused"),
    h("span", { class: "faint" }, one.paused.reason && ` ${one.paused.reason}`),
  );
  if (one.finished) return h("span", { class: "faint" }, "finished");
  if (one.waits) return h("span", { title: one.waits },
    badge("queued", "waits"),
    h("span", { class: "faint" }, ` ${one.waits}`),
  );
  if (!one.next_run_at) return h("span", { class: "faint" }, "–");
  return [
    h("span", { class: "count" }, countdown(one.next_run_at)),
    h("span", { class: "faint at" }, timeAt(one.next_run_at, { short: true })),
  ];
}

function nothing(query) {
  if (Object.keys(query).length) return empty(
    "No schedules match.",
    "Clear a filter.",
    button("Show all", () => go(["schedules"])),
  );
  return empty(
    "No schedules yet.",
    "Add a job file to the watched folder, decorate a function with @tw.job, or sign in as an admin.",
  );
}
