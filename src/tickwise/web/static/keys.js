/** Ways for those who would rather type. */

import { Facts } from "./components.js";
import { tell } from "./dialog.js";
import { openPalette } from "./palette.js";
import { html } from "./preact.js";
import { go } from "./routes.js";

const PLACES = {
  n: [[], "Now"],
  s: [["schedules"], "Schedules"],
  r: [["runs"], "Runs"],
  f: [["forecast"], "Forecast"],
  c: [["calendars"], "Calendars"],
  w: [["fleet"], "Workers and queues"],
  a: [["audit"], "Audit"],
};
const TYPED = "input, select, textarea, [contenteditable], [data-typed]";
const PATIENCE = 1500; // milliseconds after g

export function listenToKeys({ mayAudit }) {
  let gone = 0;
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "k") return void (event.preventDefault(), openPalette());
    if (isMeantOtherwise(event)) return;
    const place = PLACES[event.key];
    if (Date.now() - gone < PATIENCE && place && (event.key !== "a" || mayAudit())) {
      gone = 0;
      go(place[0]);
    } else if (event.key === "g") gone = Date.now();
    else if (event.key === "/") search();
    else if (event.key === "?") help();
    else return;
    event.preventDefault();
  });
}

const isMeantOtherwise = (event) =>
  event.ctrlKey || event.metaKey || event.altKey || event.target.matches(TYPED) || document.querySelector(
    "dialog[open]",
  );

/** The search of the page; where there is none, that of schedules. */
function search() {
  const box = document.querySelector("[data-search]");
  if (box) return box.focus();
  go(["schedules"]);
  new MutationObserver((_, observer) => {
    const found = document.querySelector("[data-search]");
    if (!found) return;
    observer.disconnect();
    setTimeout(() => found.focus());
  }).observe(document.getElementById("main"), { childList: true, subtree: true });
}

const KEYS = [
  ...Object.entries(PLACES).map(([key, [, word]]) => [["g", key], word]),
  [["Ctrl", "K"], "Go to, or do, anything"],
  [["/"], "Search"],
  [["j"], "Next run in a list"],
  [["k"], "Run before in a list"],
  [["x"], "Mark a run in a list"],
  [["p"], "Look into a run beside the list"],
  [["←", "→"], "Move through a ribbon of slots"],
  [["?"], "These keys"],
  [["Esc"], "Close a dialog"],
];

const help = () => tell("Keys", html`<${Facts} pairs=${KEYS.map(([names, word]) => [names.map((name) => html`<kbd key=${name}>${name}</kbd>`), word])} />`);
