/** How far a backfill is, with the way to end it. */

import { get, may, send } from "./api.js";
import { ask } from "./dialog.js";
import { h, put } from "./dom.js";
import { button, panel } from "./parts.js";
import { say } from "./say.js";

const LOOK_EVERY = 2000;

export function backfillPanel(name, page) {
  const path = `schedules/${encodeURIComponent(name)}/backfill`;
  const node = h("div", {});
  let active = false;

  async function look() {
    const found = await get(path, {}, page.signal);
    active = found.active;
    put(node, active && shown(found));
  }

  const shown = (found) =>
    panel("Backfill", { aside: may("operator") && button("Stop backfill", stop, { kind: "danger" }) },
      h("progress", { max: found.asked || 1, value: found.made, "aria-label": "Backfill" }),
      h("p", { role: "status" }, `${found.made} of ${found.asked} slots have a run, ${found.left} are left.`));

  const stop = () =>
    ask({
      title: `Stop the backfill of ${name}`,
      confirm: "Stop backfill",
      danger: true,
      body: [h("p", {}, "No more slots are enqueued; runs that are already enqueued stay.")],
      act: async () => {
        await send("DELETE", path);
        say("The backfill was stopped.");
        await look();
      },
    });

  page.every(LOOK_EVERY, () => active && quietly());
  const quietly = page.calmly(look);
  page.listen("schedule", (events) => events.some((one) => one.name === name) && quietly());
  page.ready(look);
  return { node, look: quietly };
}
