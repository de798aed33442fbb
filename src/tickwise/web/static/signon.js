/** Sign-on at a provider: it sends the browser back to `sign-on`, with its answer in the address of that page. */

import { get, send, take } from "./api.js";
import { settings } from "./storage.js";

const PLACE = "../../sign-on"; // beside the API
const KEY = "sign-on";
const TO = "sign-on-to"; // where somebody was going

/** How people can sign in here besides with a token or a link. */
export const ways = () => get("../../session");

/** Leave for the provider. */
export async function leaveFor(to) {
  const { address, key } = await send("POST", `${PLACE}:begin`);
  settings.set(KEY, key);
  settings.set(TO, to);
  location.assign(address);
}

const told = () => new URLSearchParams(location.search);

/** Whether somebody comes from the provider. */
export const hasAnswer = () => told().has("state");

/** What the provider has answered, once; null if nobody comes from there. */
export function takeAnswer() {
  if (!hasAnswer()) return null;
  const answer = told();
  history.replaceState(null, "", `./${location.hash}`); // it is good for one use, and should not stay in the history
  return Object.fromEntries(
    [["state", "state"], ["code", "code"], ["error", "error"], ["issuer", "iss"]]
      .map(([name, param]) => [name, answer.get(param)]).filter(([, text]) => text),
  );
}

/** Begin the session of an answer; where its person was going. */
export async function arrive(answer) {
  const key = settings.get(KEY);
  settings.remove(KEY);
  await take(`${PLACE}:finish`, answer, { headers: key ? { "Tickwise-Session-Key": key } : {} });
  const to = settings.get(TO) ?? "";
  settings.remove(TO);
  return to;
}
