/** How things are: what is wrong and the way out, what runs around now, and the last hour. */

import { get, mayAll, send } from "../api.js";
import { aroundNow } from "../around.js";
import { minuteChart } from "../chart.js";
import { ask } from "../dialog.js";
import { h, put } from "../dom.js";
import { field } from "../fields.js";
import { button, heading, loading, panel } from "../parts.js";
import { to } from "../routes.js";
import { say } from "../say.js";
import { countdown, now } from "../time.js";
import { doctorButton, Warnings } from "../warnings.js";

const REFRESH = 30_000;
const CALM = 3000; // milliseconds between two looks

export const title = () => "Overview";

export async function show(page) {
  const tiles = h("div", { class: "tiles" }, tilesOf(UNKNOWN));
  const warnings = new Warnings(page.signal);
  const minutes = h("div", {}, loading(3));
  const actions = h("div", { class: "actions" });
  const around = aroundNow(page);
  page.view.append(
    heading("Overview", actions),
    warnings.node,
    tiles,
    around.node,
    panel("The last hour", { about: "by minute" }, minutes),
  );

  async function refresh() {
    const found = await get("overview", {}, page.signal);
    put(actions, doctorButton(warnings, found.counts.schedules), everything(found, refresh));
    put(tiles, tilesOf(found));
    put(minutes, minuteChart(found.minutes));
    warnings.take(found.warnings, found.counts.schedules);
  }
  const quietly = page.calmly(refresh, CALM);
  page.listen("run", quietly);
  page.listen("decision", quietly);
  page.listen("schedule", quietly);
  page.listen("reset", quietly);
  page.every(REFRESH, quietly);
  await Promise.all([refresh(), around.loadFirst()]);
}

const UNKNOWN = { counts: { runs: {} } };

const number = (count) => count?.toLocaleString("en") ?? "…";

const hourAgo = () => new Date(now() - 3_600_000).toISOString();

const tile = (name, value, { href, kind = "" } = {}) =>
  h(href ? "a" : "div", { class: `tile ${kind}`, href },
    h("span", { class: "tile-name" }, name),
    h("strong", { class: "tile-value" }, value),
  );

function tilesOf({ now: at, counts, workers, tickers, oldest_waiting_at: oldest }) {
  const runs = (...states) => at && states.reduce((sum, state) => sum + (counts.runs[state] ?? 0), 0);
  const failed = runs("failed", "lost");
  const none = (count) => (count === 0 ? "bad" : "");
  return [
    tile("Schedules", number(counts.schedules), { href: to(["schedules"]) }),
    tile("Paused", number(counts.paused), { href: to(["schedules"], { paused: "true" }) }),
    tile("Running", number(runs("running")), { href: to(["runs"], { state: "running" }) }),
    tile("Queued", number(runs("queued")), { href: to(["runs"], { state: "queued" }) }),
    tile(
      "Failed in 1 h",
      number(failed),
      { href: to(["runs"], { state: ["failed", "lost"], since: hourAgo() }), kind: failed ? "bad" : "" },
    ),
    tile("Oldest queued", oldest ? countdown(oldest) : at ? "none" : "…"),
    tile("Workers", number(workers), { href: to(["fleet"]), kind: none(workers) }),
    tile("Tickers", number(tickers), { href: to(["fleet"]), kind: none(tickers) }),
  ];
}

function everything(found, refresh) {
  if (!mayAll("operator")) return null;
  const reason = h("input", { maxlength: "1000", autocomplete: "off" });
  const change = (options) => async () => (await ask(options)) && refresh();
  return found.paused
    ? button(
      "Resume all",
      change({
        title: "Resume all",
        confirm: "Resume",
        body: [h("p", {}, "Slots of the pause are handled by each schedule's catch-up.")],
        act: () => told(send("DELETE", "pause"), "Resumed."),
      }),
      { kind: "primary", name: "runs" },
    )
    : button(
      "Pause all",
      change({
        title: "Pause all",
        confirm: "Pause all",
        danger: true,
        body: [h("p", {}, "No slot of any schedule runs until you resume."), field("Reason", reason)],
        act: () => told(send("PUT", "pause", { reason: reason.value }), "All schedules are paused."),
      }),
      { name: "paused" },
    );
}

async function told(sent, text) {
  const answer = await sent;
  say(text);
  return answer;
}
