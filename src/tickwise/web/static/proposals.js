/** What agents have proposed: what each would do, and the decision of a person. */

import { get, may, send } from "./api.js";
import { attention, lookForNeeds } from "./attention.js";
import { Button, Countdown, Failure, Panel, Sentence, Time } from "./components.js";
import { ask } from "./dialog.js";
import { Field } from "./fields.js";
import { html } from "./preact.js";
import { useResource } from "./resource.js";
import { toast } from "./toasts.js";

const EVERY = 30_000; // milliseconds between two looks
const LISTED = 5; // starts of a kind
const STARTS = { appear: "would be added", vanish: "would not come" };

/** Drawn while one waits. */
export function ProposalsPanel({ page }) {
  const counted = attention.value?.items.find((one) => one.kind === "proposed")?.counts.open ?? 0;
  const found = useResource(page, (signal) => get("proposals", {}, signal), { every: EVERY }, [counted]);
  if (found.problem.value) return html`<${Failure} problem=${found.problem.value} again=${found.load} />`;
  const open = (found.data.value?.items ?? []).filter((one) => one.state === "open");
  const decided = () => (found.load(), lookForNeeds());
  return open.length > 0 && html`<div id="proposals" tabindex="-1"><${Panel} title="Proposals" about="of agents: nothing happens before you approve">
    <ul class="needs" aria-label="Proposals">${open.map((one) => html`<${Proposal} key=${one.id} proposal=${one} decided=${decided} />`)}</ul><//></div>`;
}

function Proposal({ proposal, decided }) {
  const { act, target, effect, reason, by, expires_at: end, job } = proposal;
  const said = effect.text.replace(`${act} ${target}: `, "");
  return html`<li class="need note"><i class="need-mark" />
    <div class="need-text"><strong class="name">${act} ${target}</strong> <${Sentence} text=${said} />
      ${Object.keys(STARTS).map((kind) => effect[kind].length > 0 && html`<${Starts} kind=${kind} starts=${effect[kind]} />`)}
      <div class="faint">${reason && `“${reason}” · `}by ${by} · expires <${Countdown} at=${end} /></div></div>
    ${may("operator", job) && html`<div class="actions">
      <${Button} kind="primary" act=${async () => (await approve(proposal)) && decided()}>Approve<//>
      <${Button} act=${async () => (await reject(proposal)) && decided()}>Reject<//></div>`}</li>`;
}

/** The first starts that the act adds or takes away. */
const Starts = ({ kind, starts }) => html`<div class="faint">${STARTS[kind]}: ${starts.slice(0, LISTED).map((at, place) =>
  html`${place > 0 && ", "}<${Time} key=${at} at=${at} short />`)}${starts.length > LISTED && ` and ${starts.length - LISTED} more`}</div>`;

const pathOf = ({ id }, act) => `proposals/${encodeURIComponent(id)}:${act}`;

async function approve(proposal) {
  try {
    await send("POST", pathOf(proposal, "approve"));
    toast(`Done: ${proposal.act} ${proposal.target}.`);
    return true;
  } catch (problem) {
    if (problem.status === 409 && problem.message.startsWith("the world has changed")) return approveAnyway(proposal, problem.message);
    toast(problem.message, "wrong");
    return true;
  }
}

/** Its effect is another by now: both are shown, and a person decides again. */
const approveAnyway = (proposal, changed) =>
  ask({
    title: `${proposal.act} ${proposal.target}?`,
    body: html`<p>${changed.replace(/ Approve with anyway.*$/, "")}</p>`,
    confirm: "Approve anyway",
    act: async () => {
      await send("POST", pathOf(proposal, "approve"), { anyway: true });
      toast(`Done: ${proposal.act} ${proposal.target}.`);
      return true;
    },
  });

const reject = (proposal) =>
  ask({
    title: `Reject: ${proposal.act} ${proposal.target}`,
    body: html`<${Field} label="Reason" name="reason" maxlength="500" />`,
    confirm: "Reject",
    act: async ({ reason }) => {
      await send("POST", pathOf(proposal, "reject"), { reason });
      toast("Rejected.");
      return true;
    },
  });
