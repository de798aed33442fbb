/** The shell: who is here, where they are, and the page that they see. */

import { mayAll, Problem, reachable, signIn, who } from "./api.js";
import { h, put } from "./dom.js";
import { listenToKeys } from "./keys.js";
import * as live from "./live.js";
import { pageFor } from "./page.js";
import { failure } from "./parts.js";
import { go, here } from "./routes.js";
import { banner, chrome, mark } from "./shell.js";
import { zone } from "./time.js";
import * as audit from "./pages/audit.js";
import * as edit from "./pages/edit.js";
import * as fleet from "./pages/fleet.js";
import * as forecast from "./pages/forecast.js";
import * as overview from "./pages/overview.js";
import * as run from "./pages/run.js";
import * as runs from "./pages/runs.js";
import * as schedule from "./pages/schedule.js";
import * as schedules from "./pages/schedules.js";
import * as signin from "./pages/signin.js";

const ROUTES = [
  [[], overview],
  [["schedules"], schedules],
  [["create"], edit],
  [["schedules", ":name"], schedule],
  [["schedules", ":name", "edit"], edit],
  [["runs"], runs],
  [["runs", ":id"], run],
  [["forecast"], forecast],
  [["fleet"], fleet],
  [["audit"], audit],
  [["signin"], signin],
];

const main = h("main", { id: "main", tabindex: "-1" });
let leave = () => {};

async function render() {
  leave();
  const { parts, query } = here();
  const found = match(parts);
  if (!who.get() && found?.shown !== signin) return;
  if (!found) return go([]);
  const { page, work, end } = pageFor(found.params, query);
  leave = end;
  document.title = `${found.shown.title(found.params)} · Tickwise`;
  mark(parts[0] ?? "");
  put(main, page.view);
  window.scrollTo(0, 0);
  const well = await attempt(found.shown.show(page), page, (wrong) => put(page.view, wrong));
  if (well) await Promise.all(work.map((act) => attempt(act(), page, (wrong) => page.view.append(wrong))));
}

/** Whether it went well; what went wrong is shown. */
async function attempt(work, page, shown) {
  try {
    await work;
    return true;
  } catch (problem) {
    if (page.signal.aborted || problem.name === "AbortError" || problem.status === 401) return false;
    shown(failure(problem, render));
    if (!(problem instanceof Problem)) console.error(problem);
    return false;
  }
}

function match(parts) {
  for (const [pattern, shown] of ROUTES) {
    if (pattern.length !== parts.length) continue;
    if (!pattern.every((part, place) => part[0] === ":" || part === parts[place])) continue;
    const params = Object.fromEntries(
      pattern.map((part, place) => [part.slice(1), parts[place]]).filter((_, place) => pattern[place][0] === ":"),
    );
    return { shown, params };
  }
  return null;
}

/** Who somebody is decides what they see; nobody sees the door. */
function entered(person) {
  drawChrome();
  live.end();
  if (person) live.start();
  else if (here().parts[0] !== "signin") go(["signin"], { to: location.hash.replace(/^#\/?/, "") });
}

const bars = { top: h("div", {}), side: h("div", {}) };

function drawChrome() {
  const { top, side } = chrome();
  put(bars.top, top);
  put(bars.side, side);
  mark(here().parts[0] ?? "");
}

async function start() {
  put(document.getElementById("shell"), banner(), bars.top, h("div", { class: "body" }, bars.side, main));
  document.querySelector(".skip").addEventListener("click", (event) => (event.preventDefault(), main.focus()));
  drawChrome();
  listenToKeys({ mayAudit: () => mayAll("admin") });
  who.on(entered);
  zone.on(() => (drawChrome(), render()));
  window.addEventListener("hashchange", () => {
    render();
    (main.querySelector("h1") ?? main).focus({ preventScroll: true });
  });
  await enter();
}

/** Come in; while the server is away, try again when it is back. */
async function enter() {
  try {
    await signIn();
    await render();
  } catch (problem) {
    if (problem.status === 401) entered(null), await render();
    else if (problem.status === 0) {
      put(main, h("p", { class: "alone" }, "Waiting for the server …"));
      const once = reachable.on((well) => well && (once(), enter()));
    } else put(main, failure(problem, enter));
  }
}

start();
