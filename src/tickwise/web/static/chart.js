/** The last hour by minute: a small row of bars for each thing that is counted. */

import { h, svg } from "./dom.js";
import { clock } from "./time.js";

const HIGH = 28;
const BAR = 4;
const KINDS = [["fired", "fired", "succeeded"], ["skipped", "skipped", "skipped"], ["failed", "failed", "failed"]];

export const minuteChart = (minutes) => h("div", { class: "minutes" },
  KINDS.map(([kind, word, state]) => bars(minutes, kind, word, state)),
);

function bars(minutes, kind, word, state) {
  const counts = minutes.map((minute) => minute[kind]);
  const sum = counts.reduce((total, count) => total + count, 0);
  const most = Math.max(1, ...counts);
  const width = minutes.length * (BAR + 1);
  return h("div", { class: "minutes-row" },
    h("span", { class: "minutes-word" }, word), h("strong", { class: "number" }, String(sum)),
    svg("svg", {
      viewBox: `0 0 ${width} ${HIGH}`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": `${sum} ${word} in the last hour, at most ${Math.max(0, ...counts)} in a minute`,
    },
      svg("line", { class: "base", x1: 0, x2: width, y1: HIGH - 0.5, y2: HIGH - 0.5 }),
      counts.map((count, place) => {
        const high = count ? Math.max(2, (count / most) * (HIGH - 2)) : 0;
        return count > 0 && svg(
          "rect",
          { class: `bar is-${state}`, x: place * (BAR + 1), y: HIGH - high, width: BAR, height: high },
          svg("title", {}, `${clock(minutes[place].start)}: ${count} ${word}`),
        );
      })));
}
