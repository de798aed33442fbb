/** What would have let a slot run: searched when somebody asks, because a search takes a while. */

import { get } from "./api.js";
import { Button, Loading, Time } from "./components.js";
import { html, useState } from "./preact.js";

const CIRCUMSTANCES = {
  down: "had a pass looked when it was due",
  no_worker: "had a worker been there for it",
  paused: "had it not been paused",
  by_hand: "had nobody decided it by hand",
};

/** Below the reason of a slot that has no run. */
export function WhatIf({ page, schedule, slot }) {
  const [found, setFound] = useState(null); // null, or what is known of the search
  if (found === null) return html`<${Button} icon="moved" act=${() => search(page, schedule, slot, setFound)}>What would have let it run?<//>`;
  if (found.busy) return html`<div role="status" aria-label="Searching"><${Loading} rows=${2} /></div>`;
  if (found.problem) return html`<p class="warning" role="status">${found.problem}</p>`;
  return html`<section class="what-if" role="status"><h3>What would have let it run</h3>
    ${found.remedies.length === 0 && html`<p>${upper(found.text)}.</p>`}
    <ol>${found.remedies.map((one) => html`<li key=${one.text}><strong>${changes(one)}</strong>
      <div class="faint">Its run would have begun at <${Time} at=${one.run_at} label />${others(one)}</div></li>`)}</ol></section>`;
}

async function search(page, schedule, slot, setFound) {
  setFound({ busy: true });
  try {
    setFound(await get(`schedules/${encodeURIComponent(schedule)}/what-if`, { slot }, page.signal));
  } catch (problem) {
    if (problem.name !== "AbortError") setFound({ problem: problem.message });
  }
}

/** The fields of the definition, and what would have had to be otherwise then. */
const changes = ({ fields, circumstances }) => [
  ...Object.entries(fields).map(([name, value]) => (value === null ? `without ${name}` : `${name}: ${value}`)),
  ...circumstances.map((one) => CIRCUMSTANCES[one] ?? one),
].join(", and ");

/** What the change would have done to other slots. */
function others({ others_gained: gained, others_lost: lost }) {
  const told = [gained && `${slots(gained)} more would have run`, lost && `${slots(lost)} would not have run`].filter(Boolean);
  return told.length ? `; ${told.join(", ")}` : "; no other slot would have changed";
}

const slots = (count) => `${count} ${count === 1 ? "slot" : "slots"}`;

const upper = (text) => text.charAt(0).toUpperCase() + text.slice(1);
