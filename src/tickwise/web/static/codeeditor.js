/**
 * A text editor for job files: CodeMirror, with completion by the schema and mistakes at their place.
 *
 * It lives in a shadow root, because there CodeMirror puts its styles into a constructed style sheet, which the strict
 * CSP allows, and not into a <style> element.
 */

import { Loading } from "./components.js";
import { html, useEffect, useRef, useState } from "./preact.js";

const LINE = 20.8; // pixels

/** `problems` are `{line, column, field, text, nearest}`; `complete(text, caret)` gives the words that may come next. */
export function CodeEditor({ label, value, change, problems, complete }) {
  const host = useRef(null);
  const view = useRef(null);
  const given = useRef(null);
  given.current = { change, complete };
  const [mirror, setMirror] = useState(null);
  useEffect(() => {
    let isGone = false;
    import("./vendor/codemirror.js").then((loaded) => {
      if (isGone) return;
      const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: "open" });
      view.current = new loaded.EditorView({ root, parent: root, doc: value, extensions: extensionsOf(loaded, label, given) });
      setMirror(loaded);
    });
    return () => ((isGone = true), view.current?.destroy());
  }, []);
  useEffect(() => {
    const shown = view.current;
    if (shown && shown.state.doc.toString() !== value) shown.dispatch({ changes: { from: 0, to: shown.state.doc.length, insert: value } });
  }, [mirror, value]);
  useEffect(() => {
    if (mirror) view.current.dispatch(mirror.setDiagnostics(view.current.state, problems.map((one) => diagnostic(view.current.state.doc, one))));
  }, [mirror, problems]);
  return html`<div class="code-editor">${!mirror && html`<${Loading} rows=${8} high=${value.split("\n").length * LINE + 22} />`}<div ref=${host} data-typed /></div>`;
}

/** From the place of a mistake to the end of its value; one within a text between quotes is about the character there. */
function diagnostic(doc, { line, column, field, text, nearest }) {
  const { from, to, text: all } = doc.line(Math.min(doc.lines, Math.max(1, line ?? 1)));
  const begin = Math.min(to, from + (column ?? 1) - 1);
  const length = /^("[^"]*"?|'[^']*'?|[^\s,\]}]+)/.exec(all.slice(begin - from))?.[0].length ?? 0;
  return { from: begin, to: begin + length || to, severity: "error", message: `${field ? `${field}: ` : ""}${text}${nearest ? `\nDid you mean ${nearest}?` : ""}` };
}

function extensionsOf(mirror, label, given) {
  const { EditorView, EditorState, keymap, tags } = mirror;
  const complete = async (context) => {
    const { from, words } = await given.current.complete(context.state.doc.toString(), context.pos);
    if (from === context.pos && !context.explicit) return null;
    return { from, options: words.map(({ label: word, about, insert }) => ({ label: word, apply: insert, detail: about.length > 60 ? `${about.slice(0, 58)} …` : about })) };
  };
  const colours = [
    [[tags.definition(tags.propertyName), tags.propertyName], "--accent"], [[tags.string, tags.special(tags.string)], "--good"], [[tags.content], "--good"],
    [[tags.number], "--skip"], [[tags.bool, tags.null, tags.keyword], "--gone"], [[tags.comment, tags.lineComment], "--faint"], [[tags.separator, tags.punctuation], "--faint"],
  ];
  return [
    mirror.lineNumbers(), mirror.history(), mirror.drawSelection(), mirror.highlightActiveLine(), mirror.bracketMatching(), mirror.indentOnInput(), mirror.indentUnit.of("  "),
    EditorState.tabSize.of(2), mirror.yaml(), mirror.lintGutter(), EditorView.lineWrapping,
    mirror.autocompletion({ override: [complete], icons: false }),
    mirror.syntaxHighlighting(mirror.HighlightStyle.define(colours.map(([tag, name]) => ({ tag, color: `var(${name})` })))),
    keymap.of([...mirror.completionKeymap, ...mirror.defaultKeymap, ...mirror.historyKeymap, ...mirror.lintKeymap, { key: "Tab", run: mirror.indentMore, shift: mirror.indentLess }]),
    EditorView.updateListener.of((update) => update.docChanged && given.current.change(update.state.doc.toString())),
    EditorView.domEventHandlers({ beforeinput: replaceSelected }),
    EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", autocapitalize: "off" }),
    EditorView.theme(THEME),
  ];
}

/** Text over a selection: a browser would give it the style of what it replaces as an inline style, which the CSP refuses. */
function replaceSelected(event, view) {
  if (event.inputType !== "insertText" || event.isComposing || view.state.selection.main.empty) return false;
  event.preventDefault();
  view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
  return true;
}

const THEME = {
  "&": { color: "var(--text)", backgroundColor: "var(--surface)", fontSize: "13px", height: "100%" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6" },
  ".cm-content": { caretColor: "var(--text)", padding: "10px 0", minHeight: "min(420px, 60vh)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--faint)", border: "none" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--raised) 55%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "transparent", color: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--accent-soft)" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad)", textDecorationSkipInk: "none" },
  ".cm-tooltip": { backgroundColor: "var(--surface)", color: "var(--text)", border: "1px solid var(--line)", borderRadius: "8px", boxShadow: "0 10px 30px rgb(0 0 0 / 0.2)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "300px" },
  ".cm-tooltip-autocomplete ul li": { padding: "4px 10px !important" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent-soft)", color: "var(--accent)" },
  ".cm-completionDetail": { fontStyle: "normal", color: "var(--faint)", fontFamily: "Inter, system-ui, sans-serif" },
  ".cm-lint-marker.cm-lint-marker": { content: "none", width: "8px", height: "8px", margin: "6px auto", borderRadius: "50%", backgroundColor: "var(--bad)" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
};
