export { EditorView, keymap, lineNumbers, highlightActiveLine, drawSelection } from "@codemirror/view";
export { EditorState } from "@codemirror/state";
export { yaml } from "@codemirror/lang-yaml";
export { autocompletion, completionKeymap } from "@codemirror/autocomplete";
export { lintGutter, setDiagnostics, lintKeymap } from "@codemirror/lint";
export { defaultKeymap, history, historyKeymap, indentLess, indentMore } from "@codemirror/commands";
export { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
export { tags } from "@lezer/highlight";
