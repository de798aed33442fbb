/** The doctor looks at every schedule, so it comes when it is asked; what it finds stands here with the repair. */

import { get, mayAll } from "./api.js";
import { Button, Panel } from "./components.js";
import { html, useState } from "./preact.js";
import { toast } from "./toasts.js";

export function Doctor({ page }) {
  const [findings, setFindings] = useState([]);
  if (!mayAll("operator")) return null;
  const ask = async () => {
    try {
      const found = (await get("doctor", {}, page.signal)).findings;
      setFindings(found);
      if (!found.length) toast("No problems found.");
    } catch (problem) {
      toast(problem.message, "wrong");
    }
  };
  return html`${findings.length > 0 && html`<${Panel} title="What the doctor found"><ul class="needs">${findings.map((one) =>
      html`<li class=${`need ${one.severity === "error" ? "error" : "warning-level"}`}><i class="need-mark" role="img" aria-label=${one.severity} />
        <div class="need-text">${one.what}${one.repair && html`<div><code>${one.repair}</code></div>`}</div></li>`)}</ul><//>`}
    <div><${Button} kind="quiet" act=${ask}>Run the doctor<//></div>`;
}
