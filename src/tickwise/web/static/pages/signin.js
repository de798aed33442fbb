/** Who are you? */

import { signIn } from "../api.js";
import { h, put } from "../dom.js";
import { field } from "../fields.js";
import { heading } from "../parts.js";

export const title = () => "Sign in";

export async function show(page) {
  const token = h("input", { type: "password", required: true, autocomplete: "current-password", name: "token" });
  const row = field(
    "Token",
    token,
    { hint: "tickwise serve says where the first one is; tickwise token create makes others." },
  );
  const submit = async (event) => {
    event.preventDefault();
    row.fail("");
    try {
      await signIn(token.value.trim());
      location.hash = `#/${page.query.to ?? ""}`;
    } catch (problem) {
      row.fail(problem.message);
    }
  };
  page.view.append(
    heading("Sign in"),
    h("form", { class: "panel narrow", on: { submit } },
      row,
      h("button", { class: "button primary", type: "submit" }, "Sign in"),
      put(h("p", { class: "faint" }), "The token is kept only in this tab, until you close it."),
    ),
  );
  token.focus();
}
