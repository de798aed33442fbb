/** Short messages at the edge of the page, and the clipboard. */

import { Icon } from "./components.js";
import { html, render, signal } from "./preact.js";

const SHOWN_FOR = 6000; // milliseconds
const shown = signal([]); // {text, kind}
let isDrawn = false;

/** Show a message to people who look and to those who listen; one that is there already is not shown twice. */
export function toast(text, kind = "fine") {
  if (!isDrawn) render(html`<${Toasts} />`, document.body.appendChild(document.createElement("div")));
  isDrawn = true;
  if (shown.value.some((one) => one.text === text)) return;
  const one = { text, kind };
  shown.value = [...shown.value, one];
  setTimeout(() => (shown.value = shown.value.filter((other) => other !== one)), SHOWN_FOR);
}

const Toasts = () => html`<div class="toasts" role="status" aria-live="polite">${shown.value.map(({ text, kind }) =>
  html`<div class=${`toast ${kind}`} key=${text}><${Icon} name=${kind === "fine" ? "succeeded" : "warning"} />${text}</div>`)}</div>`;

/** Copy, also where browsers keep the clipboard for secure pages. */
export async function copy(text) {
  if (navigator.clipboard) await navigator.clipboard.writeText(text);
  else {
    const area = document.body.appendChild(document.createElement("textarea"));
    area.className = "off-screen";
    area.value = text;
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  toast("Copied.");
}
