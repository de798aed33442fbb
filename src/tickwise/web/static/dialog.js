/** Questions: a dialog that is left by an answer, Escape, or a click beside it. */

import { h, put } from "./dom.js";
import { button } from "./parts.js";

/**
 * Ask for something. `act` does what was asked for; while it is at it the dialog waits, and what it throws is told
 * inside. The answer is what `act` returned, or undefined if the person thought better of it.
 */
export function ask({ title, body = [], confirm, danger = false, act, wide = false }) {
  return new Promise((resolve) => {
    const wrong = h("p", { class: "dialog-error", role: "alert" });
    const yes = h("button", { type: "submit", class: `button ${danger ? "danger" : "primary"}` }, confirm);
    const no = button("Cancel", () => dialog.close());
    let answer;
    const submit = async (event) => {
      event.preventDefault();
      yes.disabled = true;
      put(wrong);
      try {
        answer = await act();
        dialog.close();
      } catch (problem) {
        put(wrong, problem.message);
      } finally {
        yes.disabled = false;
      }
    };
    const dialog = shown(
      title,
      wide,
      h("form", { on: { submit } },
        h("div", { class: "dialog-body" }, body),
        wrong,
        h("div", { class: "dialog-actions" }, no, yes),
      ),
    );
    dialog.addEventListener("close", () => resolve(answer));
  });
}

/** Show something until it is closed. */
export function tell(title, ...body) {
  const done = h("div", { class: "dialog-actions" }, button("Close", () => dialog.close()));
  const dialog = shown(title, true, h("div", { class: "dialog-body" }, body), done);
  return dialog;
}

function isBeside(dialog, { target, clientX: x, clientY: y }) {
  const { left, right, top, bottom } = dialog.getBoundingClientRect();
  return target === dialog && (x < left || x > right || y < top || y > bottom);
}

function shown(title, wide, ...content) {
  const before = document.activeElement;
  const dialog = h("dialog", { class: wide ? "wide" : "", "aria-label": title }, h("h2", {}, title), content);
  dialog.addEventListener("pointerdown", (event) => isBeside(dialog, event) && dialog.close());
  dialog.addEventListener("close", () => {
    dialog.remove();
    before?.focus?.();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
