/** The timeline around now: what ran, runs and will run; runs move in it as they are told. */

import { get } from "./api.js";
import { h, put } from "./dom.js";
import { choices, refine } from "./fields.js";
import { empty, failure, panel } from "./parts.js";
import { now, stamp } from "./time.js";
import { lanesOf, Timeline } from "./timeline.js";

const HOUR = 3_600_000;
const ZOOMS = [["1", "hour"], ["6", "6 hours"], ["24", "day"], ["168", "week"]];
const PAST = 0.6; // of the picture
const REFRESH = 30_000;
const REDRAW = 2000;
const [FIRST, MOST] = [120, 1000]; // runs, and as many to come
const TROUBLE = 20;
const LATER = 1500; // milliseconds after the first view
const STATES = ["succeeded", "failed", "running", "skipped", "cancelled"];

export function aroundNow(page) {
  const around = new Around(page);
  page.listen("run", (runs) => around.take(runs));
  page.listen("reset", () => around.load());
  page.every(REFRESH, () => around.load());
  page.every(REDRAW, () => around.draw());
  return around;
}

class Around {
  #runs = new Map();
  #upcoming = [];
  #limit = MOST;
  #from = null; // what is older is left out, if there is too much

  constructor(page) {
    this.signal = page.signal;
    this.hours = Number(page.query.hours) || 1;
    this.picture = new Timeline("Runs around now");
    this.none = h("div", { hidden: true },
      empty("No runs in this period.", "Choose a longer period, or add a schedule."),
    );
    this.wrong = h("div", {});
    const zoom = choices("Zoom", ZOOMS, String(this.hours), (hours) => {
      this.hours = Number(hours);
      refine(page.query, { hours });
      this.load();
    });
    this.node = panel("Around now", { aside: zoom, wide: true },
      this.wrong,
      this.picture.node,
      this.none,
      legend(),
    );
  }

  bounds() {
    const length = this.hours * HOUR;
    return { start: now() - length * PAST, end: now() + length * (1 - PAST) };
  }

  take(runs) {
    for (const run of runs) this.#runs.set(run.id, run);
    this.draw();
  }

  /** A few at once; the rest of a busy time when the page stands. */
  async loadFirst() {
    await this.load(FIRST);
    if (Math.max(this.#runs.size, this.#upcoming.length) < FIRST) return;
    setTimeout(() => this.signal.aborted || this.load(), LATER);
  }

  /** Of too many, those that ended last and those that come first; and the last that failed, in any case. */
  async load(limit = MOST) {
    const [start, end] = Object.values(this.bounds()).map((instant) => new Date(instant).toISOString());
    try {
      const [found, failed] = await Promise.all([
        get("timeline", { start, end, limit }, this.signal),
        get("runs", { since: start, state: ["failed", "lost"], limit: TROUBLE }, this.signal),
      ]);
      this.#runs = new Map([...failed.items, ...found.runs].map((run) => [run.id, run]));
      this.#upcoming = found.upcoming;
      this.#limit = limit;
      this.#from = found.runs.length < limit ? null : found.runs[0].started_at;
      put(this.wrong);
      this.draw();
    } catch (problem) {
      if (problem.name !== "AbortError") put(this.wrong, failure(problem, () => this.load()));
    }
  }

  draw() {
    const { start, end } = this.bounds();
    const within = (run) =>
      Date.parse(run.started_at) < end && (!run.finished_at || Date.parse(run.finished_at) >= start);
    const coming = this.#upcoming.filter((one) => Date.parse(one.at) > now() - REDRAW);
    const lanes = lanesOf([...this.#runs.values()].filter(within), coming);
    this.none.hidden = lanes.length > 0;
    const about = [
      this.#from && `Runs are shown from ${stamp(this.#from)}. `,
      coming.length > 0 && this.#upcoming.length >= this.#limit && `Upcoming runs are shown up to ${stamp(coming.at(-1).at)}.`,
    ];
    this.picture.show({ start, end, lanes, about });
  }
}

const legend = () =>
  h("p", { class: "legend faint", "aria-hidden": "true" },
    STATES.map((state) => h("span", {}, h("i", { class: `cell is-${state}` }), state)),
    h("span", {}, h("i", { class: "cell coming" }), "to come"),
  );
