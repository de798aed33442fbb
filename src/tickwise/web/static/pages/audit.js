/** Who changed what; and who may come in. */

import { get, mayAll } from "../api.js";
import { tell } from "../dialog.js";
import { h, put } from "../dom.js";
import { refine, searchBox } from "../fields.js";
import { jsonView } from "../json.js";
import { Pager } from "../pager.js";
import { button, empty, failure, heading, zoned } from "../parts.js";
import { timeAt } from "../time.js";
import { tokensPanel } from "../tokens.js";
import { virtualTable } from "../virtual.js";

const PAGE = 200;

export const title = () => "Audit";

export async function show(page) {
  if (!mayAll("admin")) {
    page.view.append(
      heading("Audit"),
      empty(
        "Only an admin of all jobs can see the audit.",
        "Sign in as an admin: tickwise token link prints a link.",
      ),
    );
    return;
  }
  const wrong = h("div", {});
  const list = new Pager(
    (after) => get("audit", { subject: page.query.subject, after, limit: PAGE }, page.signal),
    () => (put(wrong), rows.show(list.items)),
    (problem) => put(wrong, failure(problem, () => list.restart())),
  );
  const columns = [[zoned("When"), "when"], ["Who", "words"], ["What", "grow"], ["More", "state"]];
  const rows = virtualTable({
    label: "Audit",
    columns,
    row,
    more: () => list.more(),
    none: () => (list.done ? empty("No changes recorded.") : "Loading …"),
  });
  const subject = (text) => (refine(page.query, { subject: text }), list.restart());
  page.view.append(
    heading("Audit"),
    h("div", { class: "filters" },
      searchBox("Exact name of a schedule, run or token", page.query.subject, subject),
    ),
    wrong,
    rows.node,
    tokensPanel(page, () => list.restart()),
  );
  page.listen("reset", () => list.restart());
  await list.restart();
}

const row = (entry) =>
  h("tr", {},
    h("td", { class: "when" }, timeAt(entry.at)),
    h("td", { class: "words" }, entry.who),
    h("td", { class: "grow" }, h("span", { class: "name" }, entry.action), ` ${entry.subject}`),
    h("td", { class: "state" },
      (entry.before !== null || entry.after !== null) && button(
        "Details",
        () => tell(
          `${entry.action} ${entry.subject}`,
          h("h3", {}, "Before"),
          jsonView("Before", entry.before),
          h("h3", {}, "After"),
          jsonView("After", entry.after),
        ),
        { kind: "quiet" },
      ),
    ),
  );
