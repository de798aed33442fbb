/** The shell: who is here, where they are, and the page that they see. */

import { lost, mayAll, Problem, reachable, signIn, who } from "./api.js";
import { watchNeeds } from "./attention.js";
import { Failure } from "./components.js";
import * as events from "./events.js";
import { listenToKeys } from "./keys.js";
import { pageFor } from "./page.js";
import { openPalette } from "./palette.js";
import { html, render } from "./preact.js";
import { go, here, to } from "./routes.js";
import { drawShell, mark } from "./shell.js";
import { hasAnswer } from "./signon.js";
import { setPage } from "./tabtitle.js";
import { zone } from "./time.js";

const ROUTES = [ // each with the file of its page, which is asked for when somebody goes there
  [[], "now"],
  [["schedules"], "schedules"],
  [["create"], "edit"],
  [["schedules", ":name"], "schedule"],
  [["schedules", ":name", "edit"], "edit"],
  [["runs"], "runs"],
  [["runs", ":id"], "run"],
  [["forecast"], "forecast"],
  [["calendars"], "calendars"],
  [["fleet"], "fleet"],
  [["audit"], "audit"],
  [["signin"], "signin"],
];
const LATER = 1500; // milliseconds after the first view

const main = Object.assign(document.createElement("main"), { id: "main", tabIndex: -1 });
const file = (name) => import(`./pages/${name}.js`);
const tried = new Set(); // files that once did not come
let leave = () => {};
let isAnswered = false; // the server has said who is here

async function showPage({ moved = false } = {}) {
  leave();
  const { parts, query } = here();
  const found = match(parts);
  if (!who.get() && found?.name !== "signin") return isAnswered && goToDoor();
  if (!found) return go([]);
  const { page, end } = pageFor(found.params, query);
  leave = end;
  mark(parts[0] ?? "");
  main.replaceChildren(page.view);
  window.scrollTo(0, 0);
  await attempt(draw(found, page, moved), page);
}

/** Something instead of a page. */
function showInstead(template) {
  const view = document.createElement("div");
  main.replaceChildren(view);
  render(template, view);
}

/** A page's file that does not come: the server is away; if it is not, it has been updated since. */
async function open(name) {
  try {
    return await file(name);
  } catch (error) {
    if (tried.has(name)) location.reload();
    tried.add(name);
    return lost(error);
  }
}

async function draw({ name, params }, page, moved) {
  const { title, show } = await open(name);
  if (page.signal.aborted) return;
  setPage(title(params));
  const shown = show(page);
  if (moved) focusHeading(page.signal);
  await shown;
}

/** The heading of a page is read first, also one that takes the place of another when the data has come. */
function focusHeading(signal) {
  const settled = new AbortController();
  const focus = () => (main.querySelector("h1") ?? main).focus({ preventScroll: true });
  const drawn = new MutationObserver(() => [main, document.body].includes(document.activeElement) && focus());
  const stop = () => (drawn.disconnect(), settled.abort());
  focus();
  drawn.observe(main, { childList: true, subtree: true });
  signal.addEventListener("abort", stop);
  for (const act of ["keydown", "pointerdown"]) addEventListener(act, stop, { signal: settled.signal });
}

async function attempt(work, page) {
  try {
    await work;
  } catch (problem) {
    if (page.signal.aborted || problem.name === "AbortError" || problem.status === 401) return;
    render(html`<${Failure} problem=${problem} again=${showPage} />`, page.view);
    if (problem.status === 0) showWhenBack(page);
    if (!(problem instanceof Problem)) console.error(problem);
  }
}

/** A page that met an outage is drawn anew when the server is back, unless it was left meanwhile. */
function showWhenBack(page) {
  const forget = reachable.on((well) => {
    if (!well) return;
    forget();
    if (!page.signal.aborted) showPage();
  });
}

function match(parts) {
  for (const [pattern, name] of ROUTES) {
    if (pattern.length !== parts.length) continue;
    if (!pattern.every((part, place) => part[0] === ":" || part === parts[place])) continue;
    const params = Object.fromEntries(
      pattern.map((part, place) => [part.slice(1), parts[place]]).filter((_, place) => pattern[place][0] === ":"),
    );
    return { name, params };
  }
  return null;
}

/** Who somebody is decides what they see; nobody sees the door. */
function entered(person) {
  isAnswered = true;
  events.end();
  if (person) events.start();
  else if (here().parts[0] !== "signin") goToDoor();
}

const goToDoor = () => go(["signin"], { to: location.hash.replace(/^#\/?/, "") });

async function start() {
  drawShell(document.getElementById("shell"), main, openPalette);
  document.querySelector(".skip").addEventListener("click", (event) => (event.preventDefault(), main.focus()));
  mark(here().parts[0] ?? "");
  if (hasAnswer()) history.replaceState(null, "", `${location.search}${to(["signin"])}`); // which takes it
  listenToKeys({ mayAudit: () => mayAll("admin") });
  who.on(entered);
  watchNeeds();
  zone.on(() => showPage());
  window.addEventListener("hashchange", () => showPage({ moved: true }));
  await enter();
  setTimeout(() => ROUTES.forEach(([, name]) => file(name).catch(() => {})), LATER); // the server may go away
}

/** Come in; while the server is away, try again when it is back. */
async function enter() {
  try {
    await signIn();
    await showPage();
  } catch (problem) {
    if (problem.status === 401) entered(null), await showPage();
    else if (problem.status === 0) {
      showInstead(html`<p class="alone">Waiting for the server …</p>`);
      const once = reachable.on((well) => well && (once(), enter()));
    } else showInstead(html`<${Failure} problem=${problem} again=${enter} />`);
  }
}

start();
