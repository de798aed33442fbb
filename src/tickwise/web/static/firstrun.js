/** A first start without any job: three ways to one, each with a button, and an example that runs at once. */

import { may, sendOnce } from "./api.js";
import { Button, Link } from "./components.js";
import { html } from "./preact.js";
import { go } from "./routes.js";
import { copy, toast } from "./toasts.js";

const FILE = `# nightly.yaml, in the folder that tickwise serve watches
schedule: "0 3 * * *"
timezone: Europe/Berlin
command: ./backup --all
`;
const CODE = `from tickwise import Tickwise

tw = Tickwise()

@tw.job("0 3 * * *", timezone="Europe/Berlin")
def backup():
    ...
`;
const EXAMPLE = { name: "hello", schedule: { every: "10s" }, command: "echo Hello from Tickwise", description: "An example: delete it when you like." };

async function runExample() {
  try {
    await sendOnce("schedules", EXAMPLE);
    const run = await sendOnce(`schedules/${EXAMPLE.name}:trigger`, {});
    go(["runs", run.id]);
  } catch (problem) {
    toast(problem.message, "wrong");
  }
}

export const FirstRun = () => html`<div class="first-run">
  <${Way} title="A file" about="It is read again when it changes." text=${FILE}><${Button} icon="copy" act=${() => copy(FILE)}>Copy the file<//><//>
  <${Way} title="A function" about="It runs in your own program." text=${CODE}><${Button} icon="copy" act=${() => copy(CODE)}>Copy the code<//><//>
  <${Way} title="Right here" about="A form explains the times as you type.">
    ${may("admin")
      ? html`<${Link} parts=${["create"]} kind="button">New schedule<//><${Button} kind="primary" icon="runs" act=${runExample}>Run an example<//>`
      : html`<p class="faint">Sign in as an admin: tickwise token link prints a link.</p>`}<//></div>`;

const Way = ({ title, about, text, children }) => html`<section class="panel" aria-label=${title}><h2>${title}</h2><p class="faint">${about}</p>
  ${text && html`<pre tabindex="0" aria-label=${title}>${text}</pre>`}<div class="actions">${children}</div></section>`;
