/** A box for a query, with what may come next below it. */

import { Icon } from "./components.js";
import { html, useEffect, useRef, useState } from "./preact.js";
import { completed, completions } from "./runquery.js";

export function QueryBox({ label, value, change, problem, known }) {
  const input = useRef(null);
  const [found, setFound] = useState([]);
  const [at, setAt] = useState(-1);
  useEffect(() => {
    if (input.current.value.trim() !== value) input.current.value = value;
  }, [value]);
  const look = () => (setFound(completions(input.current.value, input.current.selectionStart, known)), setAt(-1));
  const close = () => (setFound([]), setAt(-1));
  const take = (word) => {
    const [text, caret] = completed(input.current.value, input.current.selectionStart, word);
    input.current.value = text;
    input.current.setSelectionRange(caret, caret);
    input.current.focus();
    if (text.endsWith(" ")) (close(), change(text.trim()));
    else look();
  };
  const pressed = (event) => {
    const { key } = event;
    if (found.length && (key === "ArrowDown" || key === "ArrowUp")) setAt(key === "ArrowDown" ? (at + 1) % found.length : (Math.max(at, 0) + found.length - 1) % found.length);
    else if (found.length && ((key === "Enter" && at >= 0) || key === "Tab")) take(found[Math.max(0, at)]);
    else if (key === "ArrowDown") look();
    else if (key === "Enter") (close(), change(input.current.value.trim()));
    else if (key === "Escape" && found.length) close();
    else return;
    event.preventDefault();
  };
  return html`<div class="query"><label class="search"><${Icon} name="search" />
      <input ref=${input} type="search" data-search aria-label=${label} placeholder="state:failed job:nightly-backup last 12h" autocomplete="off" spellcheck=${false}
        role="combobox" aria-expanded=${String(found.length > 0)} aria-controls="query-words" aria-autocomplete="list" aria-activedescendant=${at >= 0 ? `query-word-${at}` : null}
        aria-invalid=${String(Boolean(problem))} onInput=${look} onKeyDown=${pressed} onBlur=${close} onSearch=${() => change(input.current.value.trim())} /></label>
    <ul class="query-words" id="query-words" role="listbox" aria-label="What may come next" hidden=${!found.length}>${found.map((word, place) =>
      html`<li key=${word} id=${`query-word-${place}`} role="option" aria-selected=${String(place === at)} onPointerDown=${(event) => (event.preventDefault(), take(word))}>${word}</li>`)}</ul>
    ${problem && html`<p class="field-error" role="alert">${problem.message}</p>`}</div>`;
}
