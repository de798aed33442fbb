/** What people do to runs. */

import { send } from "./api.js";
import { ask } from "./dialog.js";
import { h } from "./dom.js";
import { go } from "./routes.js";
import { say } from "./say.js";

const ACTIVE = new Set(["queued", "running"]);
const path = (run, action) => `runs/${encodeURIComponent(run.id)}:${action}`;

export const isActive = (run) => ACTIVE.has(run.state);

export const cancel = (run) =>
  ask({
    title: `Cancel run #${run.id} of ${run.job}`,
    body: [
      h("p", {},
        run.state === "running" ? "It is asked to stop; work that is already done stays." : "It will not start.",
      ),
    ],
    confirm: "Cancel the run",
    danger: true,
    act: async () => {
      const { state } = await send("POST", path(run, "cancel"));
      say(state === "running" ? "The run was asked to stop." : "The run is cancelled.");
      return state;
    },
  });

export function retry(run, hasSteps) {
  const way = (value, text, checked) => h("label", { class: "check" },
    h("input", { type: "radio", name: "from", value, checked }),
    text,
  );
  const ways = [
    way(
      "failed",
      hasSteps ? "from the failed step on; successful steps are not repeated" : "the same run again",
      true,
    ),
    way("start", "everything, as a new run", false),
  ];
  return ask({
    title: `Retry run #${run.id} of ${run.job}`,
    body: ways,
    confirm: "Retry",
    act: async () => {
      const fromFailed = ways[0].querySelector("input").checked;
      const again = await send("POST", path(run, "retry"), { from_failed: fromFailed });
      say(again.id === run.id ? "The run is back in the queue." : `Queued as run #${again.id}.`);
      if (again.id !== run.id) go(["runs", again.id]);
      return again;
    },
  });
}

/** Those that were marked, one by one. */
export const bulkOf = (ids, action) =>
  ask({
    title: `${action === "retry" ? "Retry" : "Cancel"} ${ids.length} runs`,
    body: [h("p", { class: "faint" }, ids.map((id) => `#${id}`).join(" "))],
    confirm: `${action === "retry" ? "Retry" : "Cancel"} ${ids.length} runs`,
    danger: action === "cancel",
    act: async () => {
      let done = 0;
      for (const id of ids) {
        await send("POST", path({ id }, action), action === "retry" ? { from_failed: true } : undefined)
          .then(() => (done += 1), (problem) => say(`#${id}: ${problem.message}`, "wrong"));
      }
      say(`${done} of ${ids.length} done.`);
      return true;
    },
  });
