/** A definition's rules in words; what it does not say is told by its default. */

const CATCHUP = {
  skip: "Missed slots are not run; each is recorded as skipped.",
  once: "After an interruption, one run covers all missed slots.",
  all: "Missed slots run one by one, the oldest first",
};
const OVERLAP = {
  skip: "A slot is skipped if the job is active.",
  queue: "A slot waits if the job is active; slots run strictly one after the other.",
  latest: "While the job is active only the newest slot waits; older ones are superseded.",
  allow: "Runs may overlap",
  replace: "A new slot cancels the active run and takes its place.",
};

/** Sentences about what happens when: [what it is about, sentence]. */
export function policies(definition) {
  const d = definition;
  const catchup = d.catchup ?? (d.catchup_window ? "all" : "once");
  const overlap = d.overlap === "all" ? "queue" : (d.overlap ?? (catchup === "all" ? "queue" : "skip"));
  return [
    ["Missed", catchup === "all" ? `${CATCHUP.all}, up to ${d.catchup_window ?? "24h"} back.` : CATCHUP[catchup]],
    [
      "Overlap",
      overlap === "allow" ? `${OVERLAP.allow}, up to ${d.max_active_runs ?? 16} at once.` : OVERLAP[overlap],
    ],
    ["On time", `A start up to ${d.grace ?? "a minute"} late counts as on time.`],
    d.jitter && ["Jitter", `Each start is delayed by up to ${d.jitter}, always the same for a slot.`],
    d.skip_if_successful && ["Guard", "A slot is skipped if the job has succeeded since the slot before."],
    d.after && ["After", `Runs only after a success of ${d.after.map(before).join(" and of ")}.`],
    d.wait_for && ["Waits", `Waits for that up to ${d.wait_for}.`],
    d.until && ["Until", `Ends at ${d.until}.`],
    d.max_runs && ["At most", `Ends after ${d.max_runs} runs.`],
    d.max_starts && ["Budget", `At most ${d.max_starts.count} runs in any ${d.max_starts.per}.`],
    d.expires && ["Expires", `A run that has not started after ${d.expires} is dropped.`],
    ["Retry", retry(d.retry)],
    d.timeout && ["Timeout", `A run is stopped after ${d.timeout}.`],
    d.at_most_once && ["Once", "A started attempt is never repeated, whatever happens to its worker."],
    ["Queue", `${d.queue ?? "default"}${d.priority ? `, priority ${d.priority}` : ""}`],
    d.keep && [
      "Kept",
      d.keep.days ? `Runs are kept for ${d.keep.days} days.` : `The last ${d.keep.runs} runs are kept.`,
    ],
    d.enabled === false && ["Disabled", "It is turned off in its definition."],
  ].filter(Boolean);
}

const before = (one) => `${one.schedule} within ${one.within}`;

function retry(given) {
  if (!given?.limit) return "A failed run is not retried.";
  const growth = given.backoff && Number(given.backoff) !== 1 ? `, ${given.backoff} times longer each time` : "";
  return `A failed run is retried up to ${given.limit} times, ${given.interval ?? "at once"} apart${growth}.`;
}
