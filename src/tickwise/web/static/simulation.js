/** What if it had been down from … to …: the real planner, played through that time and drawn. */

import { get, send } from "./api.js";
import { h, put } from "./dom.js";
import { field } from "./fields.js";
import { badge, button, empty, failure, panel, table, words, zoned } from "./parts.js";
import { instantOf, localText, now, span, stamp, timeAt, zone } from "./time.js";
import { Timeline } from "./timeline.js";

const HOUR = 3_600_000;
const SHOWN = 500; // rows
const WEEK = 168; // hours
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
  const at = (ago) => h("input", { size: "17", autocomplete: "off", value: localText(now() - ago * HOUR), required: true });
  const [start, end, downFrom, downTo] = [at(24), at(0), at(12), at(6)];
  const takes = h("input", { placeholder: "20m", size: "6" });
  const answer = h("div", { "aria-live": "polite" });
  usualLength(name).then((text) => (takes.value ||= text), () => {});
  const picture = new Timeline("Simulation");

  async function play() {
    const body = () => ({
      schedule: name,
      start: instantOf(start.value),
      end: instantOf(end.value),
      down: [{ start: instantOf(downFrom.value), end: instantOf(downTo.value) }],
      ...(takes.value ? { run_time: takes.value.trim() } : {}),
    });
    try {
      const asked = body();
      const [down] = asked.down;
      const shades = [{ from: Date.parse(down.start), to: Date.parse(down.end), title: "down" }];
      const { items } = await send("POST", "simulate", asked);
      if (!items.length) return put(answer, empty("No slots in that period."));
      put(answer, picture.node, listOf(items));
      picture.show({ start: Date.parse(asked.start), end: Date.parse(asked.end), lanes: lanesOf(items), shades });
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
      field("A run takes", takes, { hint: "as in the last week" }),
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

/** Slots one after the other that end alike are one row, so that what the outage did is seen beside what was before. */
function grouped(items) {
  const groups = [];
  for (const one of items) {
    const last = groups.at(-1);
    if (last && last.verdict === one.verdict && last.reason === one.reason) {
      last.until = one.slot;
      last.count += 1;
    } else groups.push({ ...one, until: one.slot, count: 1 });
  }
  return groups;
}

function listOf(items) {
  const columns = [
    [zoned("Slots"), (one) => [timeAt(one.slot), one.count > 1 && [" – ", timeAt(one.until)]]],
    ["Count", (one) => one.count.toLocaleString("en"), "number"],
    ["Verdict", (one) => badge(one.verdict)],
    ["Why", (one) => [words(one.reason), one.detail && one.count === 1 && h("span", { class: "faint" }, ` ${one.detail}`)], "grow"],
    [
      "Starts",
      (one) => (one.run?.started_at ? `${span(Date.parse(one.run.started_at) - Date.parse(one.slot))} later` : ""),
    ],
  ];
  const counts = new Map();
  for (const one of items) counts.set(one.verdict, (counts.get(one.verdict) ?? 0) + 1);
  const groups = grouped(items);
  return [
    h("p", { class: "counters" },
      [...counts].map(([word, count]) => h("span", { class: "counter" },
        h("strong", {}, String(count)),
        ` ${words(word)}`,
      )),
    ),
    h("div", { class: "scroll-box", tabindex: "0", role: "region", "aria-label": "Simulated slots" },
      table("Simulated slots", columns, groups.slice(0, SHOWN)),
    ),
    groups.length > SHOWN && h("p", { class: "faint" }, `and ${groups.length - SHOWN} more`),
  ];
}

/** What its runs of the last week took on average, as people write it; empty if there was none. */
async function usualLength(name) {
  const { items } = await get("hours", { schedule: name, hours: WEEK });
  let [count, sum] = [0, 0];
  for (const { runs, run_ms: mean } of items) {
    const ended = Object.values(runs).reduce((all, one) => all + one, 0);
    if (mean !== null) [count, sum] = [count + ended, sum + ended * mean];
  }
  return count ? `${Math.max(1, Math.round(sum / count / 1000))}s` : "";
}
