/** Make a schedule, or change one that was made here. */

import { getVersion, may, sendMatching, sendOnce } from "../api.js";
import { DefinitionForm } from "../definition.js";
import { h, put } from "../dom.js";
import { writeExact } from "../exact.js";
import { empty, failure, heading } from "../parts.js";
import { go, to } from "../routes.js";
import { say } from "../say.js";

export const title = ({ name }) => (name ? `Edit ${name}` : "New schedule");

export async function show(page) {
  const name = page.params.name;
  if (!may("admin")) {
    page.view.append(
      heading(title(page.params)),
      empty(
        "Only an admin may define schedules.",
        "Sign in as an admin: tickwise token link prints a link.",
        h("a", { class: "button", href: to(["signin"]) }, "Sign in"),
      ),
    );
    return;
  }
  const known = name ? await getVersion(`schedules/${encodeURIComponent(name)}`, page.signal) : null;
  const form = new DefinitionForm(known?.data.definition ?? {}, name);
  const wrong = h("div", {});
  const submit = async (event) => {
    event.preventDefault();
    put(wrong);
    form.clear();
    try {
      const saved = await save(form, known, name);
      say(`${saved.name} is saved.`);
      go(["schedules", saved.name]);
    } catch (problem) {
      if (!form.fail(problem)) put(wrong, failure(problem));
    }
  };
  page.view.append(
    heading(title(page.params)),
    h("form", { class: "editor", on: { submit }, novalidate: true },
      form.nodes(),
      wrong,
      h("div", { class: "dialog-actions" },
        h("a", { class: "button", href: name ? to(["schedules", name]) : to(["schedules"]) }, "Cancel"),
        h("button", { class: "button primary", type: "submit" }, name ? "Save" : "Create"),
      ),
    ),
  );
  await form.load();
}

async function save(form, known, name) {
  const values = form.values();
  if (!known) return sendOnce("schedules", { name: form.name(), ...values });
  const before = known.data.definition;
  const patch = Object.fromEntries(
    Object.entries(values).filter(([key, value]) => writeExact(value) !== writeExact(before[key] ?? null)),
  );
  for (const key of Object.keys(before)) if (!(key in values)) patch[key] = null;
  return sendMatching("PATCH", `schedules/${encodeURIComponent(name)}`, known.version, patch);
}
