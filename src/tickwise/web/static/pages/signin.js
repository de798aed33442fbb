/** Sign in: by a link at once, else with a token. */

import { signIn } from "../api.js";
import { Heading } from "../components.js";
import { valuesOf } from "../dialog.js";
import { Field } from "../fields.js";
import { html, shows, useEffect, useRef, useState } from "../preact.js";
import { setQuery } from "../routes.js";

export const title = () => "Sign in";

export const show = shows(SignIn);

function SignIn({ page }) {
  const { code, to = "" } = page.query;
  const form = useRef(null);
  const [wrong, setWrong] = useState("");
  const enter = async (given) => {
    setWrong("");
    try {
      await signIn(given);
      location.hash = `#/${to}`;
    } catch (problem) {
      setWrong(problem.message);
    }
  };
  useEffect(() => {
    form.current.elements.token.focus();
    if (!code) return;
    setQuery({ to }); // it is good for one use, and should not stay in the history
    enter({ code });
  }, []);
  const submit = (event) => (event.preventDefault(), enter({ token: valuesOf(event.target).token.trim() }));
  return html`<${Heading} title="Sign in" />
    <form class="panel narrow" ref=${form} onSubmit=${submit}>
      <${Field} label="Token" name="token" type="password" required autocomplete="current-password" error=${wrong}
        hint="tickwise token link prints a link that needs none; tickwise token create makes tokens." />
      <button class="button primary" type="submit">Sign in</button>
      <p class="faint">All tabs of this browser stay signed in, for a week at most.</p></form>`;
}
