/** Who may come in: tokens, made and revoked by admins. */

import { get, send } from "./api.js";
import { Badge, Button, Countdown, Empty, Failure, Loading, Panel, Table } from "./components.js";
import { ask, tell } from "./dialog.js";
import { Field, Select } from "./fields.js";
import { html } from "./preact.js";
import { useResource } from "./resource.js";
import { copy, toast } from "./toasts.js";

const ROLES = [
  ["viewer", "viewer: sees"],
  ["operator", "operator: also pauses, runs, cancels"],
  ["admin", "admin: also defines, and sees the audit"],
];

/** `changed` is called after each change. */
export function Tokens({ page, changed }) {
  const found = useResource(page, async (signal) => (await get("tokens", {}, signal)).items);
  const then = (act) => async () => (await act()) && (found.load(), changed());
  const rows = found.data.value;
  return html`<${Panel} title="Tokens" aside=${html`<${Button} icon="plus" act=${then(create)}>New token<//>`}>
    ${found.problem.value && html`<${Failure} problem=${found.problem.value} again=${found.load} />`}
    ${!rows ? html`<${Loading} rows=${2} />` : rows.length ? html`<${Table} label="Tokens" columns=${columns(then)} rows=${rows} keyOf=${(one) => one.id} />` : html`<${Empty} text="No tokens." />`}<//>`;
}

const columns = (then) => [
  ["Name", (one) => html`<strong>${one.name}</strong>`],
  ["Role", (one) => one.role],
  ["Jobs", (one) => one.scopes.join(", ") || "all"],
  ["Created", (one) => html`<${Countdown} at=${one.created_at} />`],
  ["Used", (one) => html`<${Countdown} at=${one.used_at} />`],
  ["Expires", (one) => html`<${Countdown} at=${one.expires_at} />`],
  ["Change", (one) => (one.revoked_at ? html`<${Badge} state="cancelled">revoked<//>` : html`<${Button} kind="quiet" act=${then(() => revoke(one))}>Revoke<//>`), "act"],
];

const create = () =>
  ask({
    title: "New token",
    confirm: "Create token",
    body: html`<${Field} label="Name" name="name" required /><${Select} label="Role" name="role" options=${ROLES} value="viewer" />
      <${Field} label="Jobs" name="scopes" placeholder="etl-*" hint="Patterns, separated by commas; if empty: all." />
      <${Field} label="Expires after" name="expires" placeholder="90d" hint="If empty: never." />`,
    act: async ({ name, role, scopes, expires }) => {
      const made = await send("POST", "tokens", {
        name, role, scopes: scopes.split(",").map((one) => one.trim()).filter(Boolean), expires: expires.trim() || null,
      });
      tell("The new token", html`<p>Copy it now; it cannot be shown again:</p><p class="secret mono">${made.secret}</p>
        <${Button} icon="copy" act=${() => copy(made.secret)}>Copy<//>`);
      return made;
    },
  });

const revoke = (token) =>
  ask({
    title: `Revoke the token of ${token.name}`,
    confirm: "Revoke",
    danger: true,
    body: html`<p>The API stops accepting it at once.</p>`,
    act: async () => {
      await send("DELETE", `tokens/${encodeURIComponent(token.id)}`);
      toast("Revoked.");
      return true;
    },
  });
