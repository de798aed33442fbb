/** Sign in: by a link or the answer of a provider at once, else at the provider, or with a token. */

import { providerSignOut, signIn } from "../api.js";
import { Button, Heading } from "../components.js";
import { valuesOf } from "../dialog.js";
import { Field } from "../fields.js";
import { html, shows, useEffect, useRef, useState } from "../preact.js";
import { setQuery } from "../routes.js";
import { arrive, leaveFor, takeAnswer, ways } from "../signon.js";

export const title = () => "Sign in";

export const show = shows(SignIn);

function SignIn({ page }) {
  const { code, to = "" } = page.query;
  const form = useRef(null);
  const [wrong, setWrong] = useState("");
  const [refused, setRefused] = useState("");
  const [provider, setProvider] = useState(null);
  const attempt = async (act, tell) => {
    tell("");
    try {
      location.hash = `#/${await act()}`;
    } catch (problem) {
      tell(problem.message);
    }
  };
  const enter = (given) => attempt(async () => (await signIn(given), to), setWrong);
  useEffect(() => {
    ways().then((known) => setProvider(known.provider), () => {});
    form.current.elements.token.focus();
    const answer = takeAnswer();
    if (answer) attempt(() => arrive(answer), setRefused);
    if (!code) return;
    setQuery({ to }); // it is good for one use, and should not stay in the history
    enter({ code });
  }, []);
  const submit = (event) => (event.preventDefault(), enter({ token: valuesOf(event.target).token.trim() }));
  return html`<${Heading} title="Sign in" />
    ${refused && html`<p class="panel narrow" role="alert">${refused}</p>`}
    ${provider && html`<p><${Button} kind="primary" act=${() => leaveFor(to).catch((problem) => setRefused(problem.message))}>Sign in with ${provider}<//></p>`}
    ${provider && providerSignOut && html`<p><a href=${providerSignOut}>Sign out at ${provider}, too</a></p>`}
    <form class="panel narrow" ref=${form} onSubmit=${submit}>
      <${Field} label="Token" name="token" type="password" required autocomplete="current-password" error=${wrong}
        hint="tickwise token link prints a link that needs none; tickwise token create makes tokens." />
      <button class="button primary" type="submit">Sign in</button>
      <p class="faint">All tabs of this browser stay signed in, for a week at most.</p></form>`;
}
