/** Icons, drawn here: lines on a grid of 16. */

import { svg } from "./dom.js";

export const PATHS = {
  overview: "M2 9h3l2-5 3 9 2-4h2",
  schedules: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M8 5v3l2 2",
  runs: "M5 3l8 5-8 5z",
  forecast: "M2 2h3v3H2zM6.5 2h3v3h-3zM11 2h3v3h-3zM2 6.5h3v3H2zM6.5 6.5h3v3h-3zM2 11h3v3H2z",
  fleet: "M2 3h12v4H2zM2 9h12v4H2zM5 5h.01M5 11h.01",
  audit: "M4 2h8v12H4zM6 5h4M6 8h4M6 11h2",
  succeeded: "M3 8.5l3.5 3.5L13 4.5",
  failed: "M4 4l8 8M12 4l-8 8",
  running: "M8 2a6 6 0 1 1-6 6",
  queued: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M8 5v3.5h2.5",
  skipped: "M3 4l4 4-4 4M9 4l4 4-4 4",
  cancelled: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M4 12l8-8",
  expired: "M4 2h8M4 14h8M5 2c0 4 6 8 6 12M11 2c0 4-6 8-6 12",
  lost: "M6 5.5a2 2 0 1 1 3 2c-.7.4-1 1-1 2M8 12.5h.01",
  waiting: "M4 8h.01M8 8h.01M12 8h.01",
  paused: "M5.5 3v10M10.5 3v10",
  warning: "M8 2l6.5 12h-13zM8 6.5v3.5M8 12h.01",
  coalesced: "M3 3c0 5 5 3 5 8M13 3c0 5-5 3-5 8v3",
  superseded: "M8 13V4M4 7.5L8 3.5l4 4",
  moved: "M2 8h10M9 4.5L12.5 8 9 11.5",
  plus: "M8 3v10M3 8h10",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.5 10.5L14 14",
  theme: "M8 2a6 6 0 1 0 0 12zM8 2a6 6 0 0 1 0 12",
  person: "M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6M2.5 14c.5-6 10.5-6 11 0",
  zone: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M2 8h12M8 2c-4 4-4 8 0 12M8 2c4 4 4 8 0 12",
  copy: "M5 5h8v9H5zM3 11V2h8",
};

/** An icon that says nothing itself: a word stands beside it. */
export const icon = (name) =>
  svg("svg", { class: `icon icon-${name}`, viewBox: "0 0 16 16", "aria-hidden": "true" },
    svg("path", { d: PATHS[name] ?? PATHS.waiting }),
  );
