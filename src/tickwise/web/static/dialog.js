/** Dialogs: left by an answer, Escape, or a click beside them; the focus goes back to where it was. */

import { Button } from "./components.js";
import { html, render, useState } from "./preact.js";

/**
 * Ask for something. `body` is a template whose inputs have names; `act` gets their values (a check box that is off
 * is absent) and does what was asked for. While it does, the dialog waits; what it throws is shown inside. The answer
 * is what `act` returned, or undefined if the person thought better of it.
 */
export function ask({ title, body, confirm, danger = false, act, wide = false }) {
  return new Promise((resolve) => {
    let answer;
    const dialog = open(title, wide ? "wide" : "", () => resolve(answer));
    const submit = async (values) => {
      answer = await act(values);
      dialog.close();
    };
    render(html`<${Question} title=${title} body=${body} confirm=${confirm} danger=${danger} submit=${submit} cancel=${() => dialog.close()} />`, dialog);
    dialog.showModal();
  });
}

/** Show something until it is closed. */
export function tell(title, body) {
  const dialog = open(title, "wide", () => {});
  render(html`<h2>${title}</h2><div class="dialog-body">${body}</div>
    <div class="dialog-actions"><${Button} act=${() => dialog.close()}>Close<//></div>`, dialog);
  dialog.showModal();
}

/** What the inputs of a form hold, by their names. */
export const valuesOf = (form) => Object.fromEntries(new FormData(form));

/** An empty dialog; `closed` is called when it is left. */
export function open(label, kind, closed) {
  const before = document.activeElement;
  const dialog = document.createElement("dialog");
  dialog.className = kind;
  dialog.setAttribute("aria-label", label);
  dialog.addEventListener("pointerdown", (event) => isBeside(dialog, event) && dialog.close());
  dialog.addEventListener("close", () => {
    render(null, dialog);
    dialog.remove();
    if (before?.isConnected) before.focus();
    closed();
  });
  document.body.append(dialog);
  return dialog;
}

function Question({ title, body, confirm, danger, submit, cancel }) {
  const [{ busy, wrong }, setState] = useState({ busy: false, wrong: "" });
  const submitted = async (event) => {
    event.preventDefault();
    setState({ busy: true, wrong: "" });
    await submit(valuesOf(event.target)).catch((problem) => setState({ busy: false, wrong: problem.message }));
  };
  return html`<h2>${title}</h2><form onSubmit=${submitted}>
    <div class="dialog-body">${body}</div>
    <p class="dialog-error" role="alert">${wrong}</p>
    <div class="dialog-actions"><${Button} act=${cancel}>Cancel<//>
      <button type="submit" class=${`button ${danger ? "danger" : "primary"}`} disabled=${busy}>${confirm}</button></div></form>`;
}

function isBeside(dialog, { target, clientX: x, clientY: y }) {
  const { left, right, top, bottom } = dialog.getBoundingClientRect();
  return target === dialog && (x < left || x > right || y < top || y > bottom);
}
