/** What if it had been down from … to …: the real planner, played through that time and drawn. */

import { send } from "./api.js";
import { h, put } from "./dom.js";
import { field } from "./fields.js";
import { badge, button, empty, failure, panel, table, words, zoned } from "./parts.js";
import { instantOf, localText, now, span, stamp, timeAt, zone } from "./time.js";
import { Timeline } from "./timeline.js";

const HOUR = 3_600_000;
const SHOWN = 500;
const STATES = {
  fired: "succeeded",
  caught_up: "running",
  skipped: "skipped",
  coalesced: "cancelled",
  superseded: "cancelled",
  expired: "expired",
  deferred: "queued",
};

export function simulationPanel(name) {
  const at = (ago) => h("input", { type: "datetime-local", value: localText(now() - ago * HOUR), required: true });
  const [start, end, downFrom, downTo] = [at(24), at(0), at(12), at(6)];
  const takes = h("input", { placeholder: "20m", size: "6" });
  const answer = h("div", { "aria-live": "polite" });
  const picture = new Timeline("Simulation");

  async function play() {
    const shades = [
      { from: Date.parse(instantOf(downFrom.value)), to: Date.parse(instantOf(downTo.value)), title: "down" },
    ];
    const body = {
      schedule: name,
      start: instantOf(start.value),
      end: instantOf(end.value),
      down: [{ start: instantOf(downFrom.value), end: instantOf(downTo.value) }],
      ...(takes.value ? { run_time: takes.value.trim() } : {}),
    };
    try {
      const { items } = await send("POST", "simulate", body);
      if (!items.length) return put(answer, empty("No slots in that period."));
      put(answer, picture.node, listOf(items));
      picture.show({ start: Date.parse(body.start), end: Date.parse(body.end), lanes: lanesOf(items), shades });
    } catch (problem) {
      put(answer, failure(problem));
    }
  }

  const when = `(${zone.get()})`;
  return panel("What if it had been down?", { wide: true, about: "nothing is run" },
    h("div", { class: "row" },
      field(`From ${when}`, start),
      field(`To ${when}`, end),
      field(`Down from ${when}`, downFrom),
      field(`Up again ${when}`, downTo),
      field("A run takes", takes),
      button("Simulate", play, { kind: "primary" }),
    ),
    answer,
  );
}

/** Slots by their verdict above, and the runs that they would have led to below. */
function lanesOf(items) {
  const verdicts = [...new Set(items.map((one) => one.verdict))];
  const slots = verdicts.map((verdict) => ({
    name: words(verdict),
    pieces: items.filter((one) => one.verdict === verdict).map((one) => ({
      from: Date.parse(one.slot),
      state: STATES[verdict] ?? "queued",
      hollow: false,
      title: `${stamp(one.slot)}: ${words(verdict)}, ${words(one.reason)}`,
    })),
  }));
  const runs = items.filter((one) => one.run?.started_at).map(({ run }) => ({
    from: Date.parse(run.started_at),
    to: Date.parse(run.finished_at ?? run.started_at),
    state: "succeeded",
    hollow: false,
    title: `${run.trigger}: ${stamp(run.started_at)}`,
  }));
  return [...slots, { name: "runs", pieces: runs }];
}

function listOf(items) {
  const columns = [
    [zoned("Slot"), (one) => timeAt(one.slot)],
    ["Verdict", (one) => badge(one.verdict)],
    ["Why", (one) => [words(one.reason), one.detail && h("span", { class: "faint" }, ` ${one.detail}`)], "grow"],
    [
      "Starts",
      (one) => (one.run?.started_at ? `${span(Date.parse(one.run.started_at) - Date.parse(one.slot))} later` : ""),
    ],
  ];
  const counts = new Map();
  for (const one of items) counts.set(one.verdict, (counts.get(one.verdict) ?? 0) + 1);
  return [
    h("p", { class: "counters" },
      [...counts].map(([word, count]) => h("span", { class: "counter" },
        h("strong", {}, String(count)),
        ` ${words(word)}`,
      )),
    ),
    h("div", { class: "scroll-box", tabindex: "0", role: "region", "aria-label": "Simulated slots" },
      table("Simulated slots", columns, items.slice(0, SHOWN)),
    ),
    items.length > SHOWN && h("p", { class: "faint" }, `and ${items.length - SHOWN} more`),
  ];
}
