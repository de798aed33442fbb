/** How many start when, and where many start at once. */

import { get } from "../api.js";
import { h, put } from "../dom.js";
import { choices, refine } from "../fields.js";
import { heat, shadeLegend } from "../heat.js";
import { empty, facts, failure, heading, inZone, loading, panel, scheduleLink, table } from "../parts.js";
import { stamp, timeAt, zone } from "../time.js";

const SPANS = [["24", "next day, by minute"], ["168", "next week, by hour"]];

const [MOST, SHOWN] = [1000, 200]; // starts that are asked for, and schedules that are listed

export const title = () => "Forecast";

export async function show(page) {
  const shown = new Forecast(page);
  page.view.append(...shown.nodes());
  page.listen("reset", shown.again);
  page.listen("schedule_deleted", shown.again);
  await shown.load();
}

class Forecast {
  constructor(page) {
    this.query = page.query;
    this.signal = page.signal;
    this.again = page.calmly(() => this.load());
    this.picture = h("div", {}, loading(8));
    this.herds = h("div", {});
    this.chosen = h("div", { "aria-live": "polite" },
      h("p", { class: "faint" }, "Choose a cell to see what starts then."),
    );
  }

  nodes() {
    const about = `what stands out against the usual load · ${zone.get()}`;
    const change = (hours) => (refine(this.query, { hours }), this.again());
    return [
      heading("Forecast"),
      h("div", { class: "filters" }, choices("How far", SPANS, this.query.hours ?? "24", change)),
      panel("Starts", { wide: true, about }, this.picture),
      panel("Schedules in the cell", { wide: true }, this.chosen),
      panel("Herds", { wide: true, about: "many schedules in one minute" }, this.herds),
    ];
  }

  async load() {
    const found = await get("forecast", { hours: this.query.hours ?? 24 }, this.signal);
    const pick = (index) => this.pick(found, index);
    const none = empty(
      "No runs in that period.",
      "All schedules may be paused, or there are none yet.",
    );
    const start = Date.parse(found.start);
    put(this.picture, found.counts.some(Boolean) ? [heat({ ...found, start, pick }), shadeLegend(found.counts)] : none);
    put(
      this.herds,
      found.herds.length ? herdTable(found.herds) : empty("In no minute do ten or more schedules start."),
    );
  }

  async pick({ start, step, counts }, index) {
    const from = Date.parse(start) + index * step * 1000;
    const asked = { start: new Date(from).toISOString(), hours: step / 3600, limit: MOST };
    put(this.chosen, loading(2));
    try {
      const { items } = await get("upcoming", asked, this.signal);
      put(this.chosen, who(items, from, counts[index]));
    } catch (problem) {
      if (problem.name !== "AbortError") put(this.chosen, failure(problem));
    }
  }
}

function who(upcoming, from, count) {
  const starts = new Map();
  for (const one of upcoming) starts.set(one.schedule, [...(starts.get(one.schedule) ?? []), one]);
  const rows = [...starts.values()].sort((a, b) => b.length - a.length).slice(0, SHOWN);
  return [
    facts([["From", `${stamp(from)} ${zone.get()}`], ["Starts", count.toLocaleString("en")]]),
    rows.length ? table(
      "Starts",
      [
        ["Schedule", ([one]) => scheduleLink(one.schedule)],
        ["Job", ([one]) => one.job],
        ["Starts", (all) => String(all.length), "number"],
        ["First at", ([one]) => [timeAt(one.at), inZone(one.at, one.timezone)]],
      ],
      rows,
    ) : h("p", { class: "faint" }, "No runs."),
    upcoming.length < count && h("p", { class: "faint" },
      `${upcoming.length} of ${count} starts are counted here.`,
    ),
  ];
}

const herdTable = (herds) =>
  table(
    "Herds",
    [
      ["First at", (herd) => timeAt(herd.minute)],
      ["Schedules", (herd) => String(herd.count), "number"],
      [
        "Who",
        (herd) => [
          herd.schedules.slice(0, 6).map((name, place) => [place > 0 && ", ", scheduleLink(name)]),
          herd.count > 6 && ` and ${herd.count - 6} more`,
        ],
        "grow",
      ],
      ["Instead of", (herd) => herd.instead_of && h("code", {}, herd.instead_of)],
      ["Suggestion", (herd) => herd.suggestion && h("code", {}, herd.suggestion)],
    ],
    herds,
  );
