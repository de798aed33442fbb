/** What people do to runs: each asks first, and tells what came of it. */

import { send } from "./api.js";
import { words } from "./components.js";
import { ask } from "./dialog.js";
import { html } from "./preact.js";
import { go } from "./routes.js";
import { toast } from "./toasts.js";

const ACTIVE = new Set(["queued", "running"]);
const ENDED_BADLY = new Set(["failed", "lost", "cancelled"]);
const VERBS = { retry: "Retry", cancel: "Cancel" };
const SHOWN = 5; // refusals
const path = (run, action) => `runs/${encodeURIComponent(run.id)}:${action}`;
const told = (count) => `${count.toLocaleString("en")} ${count === 1 ? "run" : "runs"}`;

export const isActive = (run) => ACTIVE.has(run.state);

export const canRetry = (run) => ENDED_BADLY.has(run.state);

export const cancel = (run) =>
  ask({
    title: `Cancel run #${run.id} of ${run.job}`,
    body: html`<p>${run.state === "running" ? "It is asked to stop; work that is already done stays." : "It will not start."}</p>`,
    confirm: "Cancel the run",
    danger: true,
    act: async () => {
      const { state } = await send("POST", path(run, "cancel"));
      toast(state === "running" ? "The run was asked to stop." : "The run is cancelled.");
      return state;
    },
  });

const Way = ({ value, checked, children }) => html`<label class="check"><input type="radio" name="from" value=${value} defaultChecked=${checked} />${children}</label>`;

export const retry = (run, hasSteps) =>
  ask({
    title: `Retry run #${run.id} of ${run.job}`,
    body: html`<${Way} value="failed" checked>${hasSteps ? "from the failed step on; successful steps are not repeated" : "the same run again"}<//>
      <${Way} value="start">everything, as a new run<//>`,
    confirm: "Retry",
    act: async ({ from }) => {
      const again = await send("POST", path(run, "retry"), { from_failed: from === "failed" });
      toast(again.id === run.id ? "The run is back in the queue." : `Queued as run #${again.id}.`);
      if (again.id !== run.id) go(["runs", again.id]);
      return again;
    },
  });

/** Why a run is not retried from a step; empty if it is. */
export function whyNotFrom(run, step, definition) {
  if (!canRetry(run)) return `State ${words(run.state)}: only a run that failed, was lost or was cancelled is retried.`;
  if (definition?.at_most_once) return "at_most_once: no step that has begun is executed again.";
  return step.state ? "" : "It has not begun: Retry goes on from where the run ended.";
}

/** Execute a step once more, and `following`, which depend on it. */
export const retryFrom = (run, step, following) =>
  ask({
    title: `Retry run #${run.id} of ${run.job} from ${step}`,
    body: html`<p>${following.length ? html`<strong>${step}</strong> is executed again, and what depends on it: ${following.join(", ")}.` : html`<strong>${step}</strong> is executed again.`}</p>
      <p class="faint">Other steps are executed only if they did not succeed.</p>`,
    confirm: "Retry",
    act: async () => {
      const again = await send("POST", path(run, "retry"), { from_step: step });
      toast(`The run is back in the queue, from ${step}.`);
      return again;
    },
  });

/** Retry or cancel those that were marked, one by one. */
export const actOnMarked = (ids, action) =>
  ask({
    title: `${VERBS[action]} ${told(ids.length)}`,
    body: html`<p class="faint">${ids.map((id) => `#${id}`).join(" ")}</p>`,
    confirm: `${VERBS[action]} ${told(ids.length)}`,
    danger: action === "cancel",
    act: async () => {
      const refusals = [];
      for (const id of ids) {
        await send("POST", path({ id }, action), action === "retry" ? { from_failed: true } : undefined)
          .catch((problem) => refusals.push({ id, text: problem.message }));
      }
      return tellEnd(ids.length, refusals);
    },
  });

/** Retry or cancel all runs that a query matches: first what would be hit, then exactly that. */
export async function actOnAll(q, action) {
  const hit = await send("POST", `runs:${action}`, { q, dry_run: true }).catch((problem) => void toast(problem.message, "wrong"));
  if (!hit) return undefined;
  if (!hit.count) return void toast(`No run that matches can be ${action === "retry" ? "retried" : "cancelled"}.`, "wrong");
  return ask({
    title: `${VERBS[action]} ${told(hit.count)}`,
    body: html`<p>All that match <code>${q || "every run"}</code>.${hit.left_out > 0 && ` ${told(hit.left_out)} more match, and cannot be ${action === "retry" ? "retried" : "cancelled"}.`}</p>
      <p class="faint">${hit.runs.map((id) => `#${id}`).join(" ")}${hit.count > hit.runs.length && " …"}</p>`,
    confirm: `${VERBS[action]} ${told(hit.count)}`,
    danger: action === "cancel",
    act: async () => {
      const { items } = await send("POST", `runs:${action}`, { q, confirm: hit.confirm });
      return tellEnd(hit.count, items.map((one) => ({ id: one.run, text: one.problem?.detail })));
    },
  });
}

function tellEnd(count, refusals) {
  for (const { id, text } of refusals.slice(0, SHOWN)) toast(`#${id}: ${text}`, "wrong");
  toast(`${count - refusals.length} of ${count} done.`);
  return true;
}
