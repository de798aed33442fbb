/**
 * What ran, runs and will run, as lanes of jobs over time.
 *
 * Runs of one lane that would touch are drawn as one piece with the worst of their states, so that the picture has
 * a bounded number of pieces, however many runs there are.
 */

import { h, put, svg } from "./dom.js";
import { clock, now, stamp, wall, zone } from "./time.js";

const LANE = 26;
const TOP = 22;
const LEAST = 4; // pixels of a piece
const STEPS = [60, 300, 900, 1800, 3600, 10800, 21600, 43200, 86400].map((seconds) => seconds * 1000);
const WORST = ["succeeded", "skipped", "cancelled", "expired", "queued", "running", "lost", "failed"];
const MOST_LANES = 40;

/** A picture of lanes `[{name, href, pieces: [{from, to, state, title, href, hollow}]}]` between two instants. */
export class Timeline {
  #shown = null;

  constructor(label) {
    this.names = h("div", { class: "lane-names", "aria-hidden": "true" });
    this.picture = h("div", { class: "lane-picture" });
    this.note = h("p", { class: "faint lane-note" });
    const parts = [this.names, this.picture, this.note];
    this.node = h("div", { class: "timeline", role: "figure", "aria-label": label }, parts);
    new ResizeObserver(() => this.#shown && this.draw(this.#shown)).observe(this.picture);
  }

  show(next) {
    this.#shown = next;
    this.draw(next);
  }

  draw({ start, end, lanes, shades = [], about }) {
    const width = this.picture.clientWidth || 600;
    const kept = lanes.slice(0, MOST_LANES);
    const height = TOP + Math.max(kept.length, 1) * LANE;
    const x = (instant) => ((instant - start) / (end - start)) * width;
    put(this.names, h("div", { style: { height: `${TOP}px` } }), kept.map(laneName));
    put(
      this.picture,
      svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "list" },
        shades.map((shade) => drawShade(shade, x, height)),
        axis(start, end, x, height),
        kept.map((lane, place) => drawLane(lane, TOP + place * LANE, x, width)),
        nowLine(start, end, x, height),
      ),
    );
    put(
      this.note,
      lanes.length > kept.length && `and ${lanes.length - kept.length} more jobs in this time. `,
      about,
    );
  }
}

const laneName = ({ name, href }) =>
  h("div", { class: "lane-name", title: name }, href ? h("a", { href, tabindex: "-1" }, name) : name);

function drawShade({ from, to: until, title }, x, height) {
  const place = { x: x(from), y: TOP, width: Math.max(1, x(until) - x(from)), height: height - TOP };
  return svg("rect", { class: "shade", ...place }, svg("title", {}, title));
}

function axis(start, end, x, height) {
  const step = STEPS.find((one) => x(start + one) >= 70) ?? STEPS.at(-1);
  const offset = zoneOffset(start);
  const marks = [];
  for (let at = Math.ceil((start + offset) / step) * step - offset; at < end; at += step) {
    const midnight = clock(at) === "00:00";
    const { day, month } = wall(at);
    marks.push(
      svg("line", { class: midnight ? "tick day" : "tick", x1: x(at), x2: x(at), y1: TOP - 4, y2: height }),
      svg("text", { class: "tick-text", x: x(at) + 3, y: TOP - 9 }, midnight ? `${day} ${month}` : clock(at)),
    );
  }
  return svg("g", { "aria-hidden": "true" }, marks);
}

function zoneOffset(instant) {
  return zone.get() === "UTC" ? 0 : -new Date(instant).getTimezoneOffset() * 60_000;
}

function nowLine(start, end, x, height) {
  const at = now();
  return at > start && at < end && svg("line", { class: "now", x1: x(at), x2: x(at), y1: TOP - 6, y2: height });
}

function drawLane(lane, y, x, width) {
  const line = svg("line", { class: "lane-line", x1: 0, x2: width, y1: y + LANE, y2: y + LANE });
  return svg("g", { role: "listitem", "aria-label": lane.name },
    line,
    joined(lane.pieces, x, width).map((piece) => drawPiece(piece, y)),
  );
}

/** Pieces in pixels, those that would touch as one. */
function joined(pieces, x, width) {
  const result = [];
  for (const piece of [...pieces].sort((a, b) => a.from - b.from)) {
    const left = Math.max(0, x(piece.from));
    const right = Math.min(width, Math.max(x(piece.to ?? piece.from), left + LEAST));
    if (right <= 0 || left >= width) continue;
    const last = result.at(-1);
    if (last && last.hollow === piece.hollow && left < last.right + 1) {
      last.right = Math.max(last.right, right);
      last.count += 1;
      if (WORST.indexOf(piece.state) > WORST.indexOf(last.state)) last.state = piece.state;
    } else result.push({ ...piece, left, right, count: 1 });
  }
  return result;
}

const many = ({ count, hollow, state, from }) =>
  `${count} ${hollow ? "to come" : `runs, the worst ${state}`}, from ${stamp(from)}`;

function drawPiece(piece, y) {
  const title = piece.count > 1 ? many(piece) : piece.title;
  const shape = piece.hollow
    ? svg(
      "rect",
      { class: "coming", x: piece.left, y: y + 9, width: Math.max(3, piece.right - piece.left), height: 8, rx: 2 },
      svg("title", {}, title),
    )
    : svg(
      "rect",
      {
        class: `piece is-${piece.state}`,
        x: piece.left,
        y: y + 5,
        width: piece.right - piece.left,
        height: 16,
        rx: 2,
      },
      svg("title", {}, title),
    );
  return piece.href && piece.count === 1 ? svg("a", { href: piece.href, "aria-label": title, tabindex: "-1" },
    shape,
  ) : shape;
}
