/** Who may come in: tokens, made and revoked by admins. */

import { get, send } from "./api.js";
import { ask, tell } from "./dialog.js";
import { h, put } from "./dom.js";
import { field, select } from "./fields.js";
import { badge, button, empty, loading, panel, table } from "./parts.js";
import { copy, say } from "./say.js";
import { countdown } from "./time.js";

const ROLES = [
  ["viewer", "viewer: sees"],
  ["operator", "operator: also pauses, runs, cancels"],
  ["admin", "admin: also defines, and sees the audit"],
];

/** `changed` is called after each change. */
export function tokensPanel(page, changed) {
  const list = h("div", {}, loading(2));
  const load = async () => {
    const { items } = await get("tokens", {}, page.signal);
    put(list, items.length ? tokenTable(items, reload) : empty("No tokens."));
  };
  const reload = () => Promise.all([load(), changed()]);
  page.ready(load);
  return panel(
    "Tokens",
    { wide: true, aside: button("New token", async () => (await create()) && reload(), { name: "plus" }) },
    list,
  );
}

const tokenTable = (tokens, changed) =>
  table(
    "Tokens",
    [
      ["Name", (one) => h("strong", {}, one.name)],
      ["Role", (one) => one.role],
      ["Jobs", (one) => one.scopes.join(", ") || "all"],
      ["Created", (one) => countdown(one.created_at)],
      ["Used", (one) => countdown(one.used_at)],
      ["Expires", (one) => countdown(one.expires_at)],
      [
        "Change",
        (one) => (
          one.revoked_at ? badge("cancelled", "revoked") : button(
            "Revoke",
            async () => (await revoke(one)) && changed(),
            { kind: "quiet" },
          )
        ),
      ],
    ],
    tokens,
  );

function create() {
  const [name, scopes, expires] = [
    h("input", { required: true, autocomplete: "off" }),
    h("input", { placeholder: "etl-*", autocomplete: "off" }),
    h("input", { placeholder: "90d", autocomplete: "off" }),
  ];
  const role = select(ROLES, "viewer");
  return ask({
    title: "New token",
    confirm: "Create token",
    body: [
      field("Name", name),
      field("Role", role),
      field("Jobs", scopes, { hint: "Patterns, separated by commas; if empty: all." }),
      field("Expires after", expires, { hint: "If empty: never." }),
    ],
    act: async () => {
      const made = await send(
        "POST",
        "tokens",
        {
          name: name.value,
          role: role.value,
          scopes: scopes.value.split(",").map((one) => one.trim()).filter(Boolean),
          expires: expires.value.trim() || null,
        },
      );
      tell(
        "The new token",
        h("p", {}, "Copy it now; it cannot be shown again:"),
        h("p", { class: "secret mono" }, made.secret),
        button("Copy", () => copy(made.secret), { name: "copy" }),
      );
      return made;
    },
  });
}

const revoke = (token) =>
  ask({
    title: `Revoke the token of ${token.name}`,
    confirm: "Revoke",
    danger: true,
    body: [h("p", {}, "The API stops accepting it at once.")],
    act: async () => {
      await send("DELETE", `tokens/${encodeURIComponent(token.id)}`);
      say("Revoked.");
      return true;
    },
  });
