/** Who changed what; and who may come in. */

import { get, mayAll } from "../api.js";
import { Button, Empty, Failure, Heading, Time } from "../components.js";
import { tell } from "../dialog.js";
import { SearchBox } from "../fields.js";
import { JsonTree } from "../jsontree.js";
import { html, shows, useEffect, useState } from "../preact.js";
import { refine } from "../routes.js";
import { LongTable } from "../table.js";
import { zone } from "../time.js";
import { Tokens } from "../tokens.js";
import { usePager } from "../usepager.js";

const PAGE = 200;

export const title = () => "Audit";

export const show = shows(({ page }) => (mayAll("admin")
  ? html`<${Audit} page=${page} />`
  : html`<${Heading} title="Audit" /><${Empty} text="Only an admin of all jobs can see the audit." advice="Sign in as an admin: tickwise token link prints a link." />`));

function Audit({ page }) {
  const [subject, setSubject] = useState(page.query.subject);
  const { pager, problem } = usePager((after) => get("audit", { subject, after, limit: PAGE }, page.signal), [subject]);
  const again = () => pager.restart();
  useEffect(() => page.listen("reset", again), [pager]);
  const choose = (text) => (refine(page.query, { subject: text }), setSubject(text));
  return html`<${Heading} title="Audit" />
    <div class="filters"><${SearchBox} label="Schedule, run or token" value=${subject} change=${choose} /></div>
    ${problem && html`<${Failure} problem=${problem} again=${again} />`}
    <${LongTable} label="Audit" columns=${[[`When (${zone.get()})`, "when"], ["Who", "words"], ["What", "grow"], ["More", "state"]]} items=${pager.items} keyOf=${(one) => one.id}
      more=${() => pager.more()} none=${() => (pager.done ? html`<${Empty} text="No changes recorded." />` : "Loading …")} row=${(one, props) => html`<${Row} ...${props} one=${one} />`} />
    ${(pager.done || pager.items.length > 0) && html`<${Tokens} page=${page} changed=${again} />`}`;
}

const Row = ({ one, ...props }) => html`<tr aria-rowindex=${props["aria-rowindex"]}>
  <td class="when"><${Time} at=${one.at} /></td><td class="words">${one.who}</td>
  <td class="grow"><span class="name">${one.action}</span> ${one.subject}</td>
  <td class="state">${(one.before !== null || one.after !== null) && html`<${Button} kind="quiet" act=${() => tell(`${one.action} ${one.subject}`, html`
    <h3>Before</h3><${JsonTree} label="Before" value=${one.before} /><h3>After</h3><${JsonTree} label="After" value=${one.after} />`)}>Details<//>`}</td></tr>`;
