/** Sign in: by a link at once, else with a token. */

import { signIn } from "../api.js";
import { h, put } from "../dom.js";
import { field } from "../fields.js";
import { heading } from "../parts.js";
import { setQuery } from "../routes.js";

export const title = () => "Sign in";

export async function show(page) {
  const { code, to = "" } = page.query;
  const token = h("input", { type: "password", required: true, autocomplete: "current-password", name: "token" });
  const row = field(
    "Token",
    token,
    { hint: "tickwise token link prints a link that needs none; tickwise token create makes tokens." },
  );
  const enter = async (given) => {
    row.fail("");
    try {
      await signIn(given);
      location.hash = `#/${to}`;
    } catch (problem) {
      row.fail(problem.message);
    }
  };
  const submit = (event) => (event.preventDefault(), enter({ token: token.value.trim() }));
  page.view.append(
    heading("Sign in"),
    h("form", { class: "panel narrow", on: { submit } },
      row,
      h("button", { class: "button primary", type: "submit" }, "Sign in"),
      put(h("p", { class: "faint" }), "All tabs of this browser stay signed in, for a week at most."),
    ),
  );
  token.focus();
  if (code) {
    setQuery({ to }); // it is good for one use, and should not stay in the history
    await enter({ code });
  }
}
