/** Why: what was decided about slots, and the question about one of them. */

import { get } from "./api.js";
import { h, put } from "./dom.js";
import { field } from "./fields.js";
import { icon } from "./icons.js";
import { badge, button, empty, failure, panel, runLink, table, zoned } from "./parts.js";
import { instantOf, stamp, timeAt, zone } from "./time.js";

export const DECISIONS = 15; // that are shown
const MARKS = { yes: "succeeded", no: "failed", wait: "queued", do: "running" };

/** The newest, as a page of the API has them. */
export function decisionTable({ items: shown, next }) {
  if (!shown.length) return empty("Every slot so far has run.");
  const isNews = (one) => one.reason !== shown[shown.indexOf(one) - 1]?.reason; // the same advice is given once
  const range = (one) => (
    one.first === one.last ? timeAt(one.first) : [timeAt(one.first), " – ", timeAt(one.last)]
  );
  const columns = [
    ["Verdict", (one) => badge(one.verdict)],
    [zoned("Slots"), range],
    ["Count", (one) => one.count.toLocaleString("en"), "number"],
    [
      "Why",
      (one) => [h("div", {}, told(one.text)), isNews(one) && h("div", { class: "faint" }, one.advice)],
      "grow",
    ],
  ];
  return [
    table("Decisions", columns, shown),
    next && h("p", { class: "faint" }, "and older ones"),
  ];
}

/** A sentence, with the run that it names as a link. */
const told = (text) => text.split(/(run \d+)/).map((part) => (
  /^run \d+$/.test(part) ? ["run ", runLink(part.slice(4))] : part
));

/** Ask about one slot. */
export function whyPanel(name) {
  const slot = h("input", { type: "datetime-local", step: "1" });
  const answer = h("div", { "aria-live": "polite" });
  const look = async () => {
    try {
      put(answer, whyOf(await get(`schedules/${encodeURIComponent(name)}/why`, { slot: instantOf(slot.value) })));
    } catch (problem) {
      put(answer, failure(problem));
    }
  };
  return panel("Why?", { wide: true },
    h("div", { class: "row" },
      field(`Slot (${zone.get()}); if empty, the newest that is due`, slot),
      button("Explain", look),
    ),
    answer,
  );
}

export const whyOf = (why) =>
  h("div", { class: "why" },
    h("p", {},
      badge(why.verdict),
      " ",
      why.slot && `${stamp(why.slot)} ${zone.get()}`,
      why.run && [" · ", runLink(why.run)],
    ),
    h("p", {}, told(why.text)),
    h("ol", { class: "chain" },
      why.chain.map(({ what, text, mark }) => h("li", { class: `is-${MARKS[mark]}` },
        icon(mark === "do" ? "moved" : MARKS[mark]),
        h("span", { class: "faint" }, what),
        h("span", {}, told(text)),
      )),
    ),
  );
