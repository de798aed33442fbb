/** All runs, the newest first; what is asked for stands in the address. */

import { get } from "../api.js";
import { h, put } from "../dom.js";
import { refine, searchBox, select } from "../fields.js";
import { Pager } from "../pages.js";
import {
  badge,
  button,
  duration,
  empty,
  failure,
  heading,
  lateness,
  runLink,
  scheduleLink,
  zoned,
} from "../parts.js";
import { go } from "../routes.js";
import { instantOf, localText, now, span, timeAt, zone } from "../time.js";
import { virtualTable } from "../virtual.js";

const [FIRST, PAGE] = [100, 500]; // rows
const NEAR = 40; // pixels from the top
const STATES = "queued running succeeded failed skipped cancelled expired lost".split(" ");
const TRIGGERS = "schedule catchup restart backfill manual enqueue".split(" ");
const NAMED = ["job", "schedule", "queue"];

export const title = () => "Runs";

export async function show(page) {
  const shown = new RunList(page);
  page.view.append(...shown.nodes());
  page.listen("run", (runs) => shown.take(runs));
  page.listen("reset", () => shown.restart());
  await shown.restart();
}

class RunList {
  #unseen = 0; // new runs that were not put on top, because somebody has scrolled away

  constructor(page) {
    this.query = page.query;
    this.wrong = h("div", {});
    this.news = h("div", { class: "news", "aria-live": "polite" });
    this.list = new Pager(
      (after) => get("runs", { ...asked(this.query), after, limit: after ? PAGE : FIRST }, page.signal),
      () => this.draw(),
      (problem) => put(this.wrong, failure(problem, () => this.restart())),
    );
    this.rows = virtualTable({
      label: "Runs",
      columns: columns(),
      row,
      more: () => this.list.more(),
      none: () => (this.list.done ? nothing(this.query) : "Loading …"),
    });
  }

  nodes() {
    const filter = (changes) => (refine(this.query, changes), this.restart());
    return [heading("Runs"), filterBar(this.query, filter, this.news), this.wrong, this.rows.node];
  }

  restart() {
    this.#unseen = 0;
    return this.list.restart();
  }

  draw() {
    const top = () => ((this.rows.node.scrollTop = 0), this.restart());
    put(this.wrong);
    put(this.news, this.#unseen > 0 && button(`${this.#unseen} new`, top, { kind: "quiet" }));
    this.rows.show(this.list.items);
  }

  /** Put what was told at its place, the newest on top; what does not fit the filters any longer goes. */
  take(runs) {
    const { list } = this;
    const told = new Map(runs.map((run) => [run.id, run]));
    const known = new Set(list.items.map((run) => run.id));
    const oldest = list.done ? null : list.items.at(-1);
    const belongs = (run) => !known.has(run.id) && fits(run, this.query) && (
      !oldest || byNewest(run, oldest) <= 0
    );
    const fresh = [...told.values()].filter(belongs);
    list.items = list.items.map((run) => told.get(run.id) ?? run).filter(
      (run) => !told.has(run.id) || fits(run, this.query),
    );
    if (this.rows.node.scrollTop < NEAR) list.tell(fresh);
    else this.#unseen += fresh.length;
    list.items.sort(byNewest);
    this.draw();
  }
}

const byNewest = (a, b) => Date.parse(b.created_at) - Date.parse(a.created_at) || Number(b.id) - Number(a.id);

const columns = () => [
  ["Run", "id"],
  ["Job", "grow"],
  ["State", "state"],
  [zoned("Slot or due"), "when"],
  ["Trigger", "words"],
  ["Late", "number"],
  ["Took", "number"],
];

function row(run) {
  const late = lateness(run);
  return h("tr", {},
    h("td", { class: "id" }, runLink(run.id)),
    h("td", { class: "grow" },
      h("span", { class: "name" }, run.job),
      run.schedule && run.schedule !== run.job && h("span", { class: "faint" },
        " by ",
        scheduleLink(run.schedule),
      ),
      run.error && h("span", { class: "error-line", title: run.error }, run.error),
    ),
    h("td", { class: "state" },
      badge(run.state),
      run.attempt > 1 && h("span", { class: "faint" }, ` attempt ${run.attempt}`),
    ),
    h("td", { class: "when" }, timeAt(run.slot ?? run.due_at)),
    h("td", { class: "words" }, run.trigger, run.by && h("span", { class: "faint" }, ` by ${run.by}`)),
    h("td", { class: "number faint" }, late === null ? "" : span(late)),
    h("td", { class: "number" }, duration(run)),
  );
}

function filterBar(query, filter, news) {
  const any = (word, codes) => [["", `any ${word}`], ...codes.map((code) => [code, code])];
  const several = [query.state].flat().filter(Boolean);
  const states = several.length > 1 ? [
    ...any("state", STATES),
    [several.join(","), several.join(" or ")],
  ] : any("state", STATES);
  const labelled = (node, label) => (node.setAttribute("aria-label", label), node);
  const since = h("input", {
    type: "datetime-local",
    "aria-label": `Created since (${zone.get()})`,
    title: `Created since (${zone.get()})`,
    value: query.since ? localText(Date.parse(query.since)) : "",
    max: localText(now()),
    on: { change: () => filter({ since: instantOf(since.value) ?? "" }) },
  });
  return h("div", { class: "filters" },
    searchBox("Find by job, schedule or id", query.text, (text) => filter({ text })),
    labelled(
      select(
        states,
        several.join(","),
        (state) => filter({ state: state.includes(",") ? state.split(",") : state }),
      ),
      "State",
    ),
    labelled(select(any("trigger", TRIGGERS), query.trigger, (trigger) => filter({ trigger })), "Trigger"),
    h("label", { class: "check" }, "since", since),
    NAMED.filter((name) => query[name]).map((name) => {
      const chip = button(
        `${name}: ${query[name]} ×`,
        () => (chip.remove(), filter({ [name]: "" })),
        { kind: "chip", title: "Show all again" },
      );
      return chip;
    }), news);
}

const asked = ({
  job,
  schedule,
  state,
  trigger,
  queue,
  since,
  until,
  text,
}) => ({ job, schedule, state, trigger, queue, since, until, text });

/** Whether a run that was just told belongs to what was asked for. */
function fits(run, query) {
  const among = (name) => !query[name]?.length || [query[name]].flat().includes(run[name]);
  const text = (query.text ?? "").toLowerCase();
  const named = [run.job, run.schedule ?? ""].some((name) => name.toLowerCase().includes(text)) || run.id === text;
  const made = Date.parse(run.created_at);
  const inTime = !(made < Date.parse(query.since)) && !(made >= Date.parse(query.until)); // neither may be given
  return named && inTime && ["job", "schedule", "state", "trigger", "queue"].every(among);
}

const nothing = (query) =>
  Object.keys(query).length ? empty(
    "No runs match.",
    "Clear a filter.",
    button("Show all", () => go(["runs"])),
  ) : empty("No runs yet.", "Wait for the next slot, or run a schedule now.");
