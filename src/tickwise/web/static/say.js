/** Words to people: short ones at the edge of the page, and what they take with them. */

import { h } from "./dom.js";
import { icon } from "./icons.js";

let announcer;

/** Say something to people who look and to those who listen. */
export function say(text, kind = "fine") {
  announcer ??= document.body.appendChild(h("div", { class: "toasts", role: "status", "aria-live": "polite" }));
  if ([...announcer.children].some((toast) => toast.textContent === text)) return;
  const toast = h("div", { class: `toast ${kind}` }, icon(kind === "fine" ? "succeeded" : "warning"), text);
  announcer.append(toast);
  setTimeout(() => toast.remove(), 6000);
}

/** Copy, also where browsers keep the clipboard for secure pages. */
export async function copy(text) {
  if (navigator.clipboard) await navigator.clipboard.writeText(text);
  else {
    const area = document.body.appendChild(h("textarea", { class: "off-screen", value: text }));
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say("Copied.");
}
