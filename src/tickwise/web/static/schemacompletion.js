/** What may stand at a place of a job file, by the JSON Schema of jobs. Pure: texts and values in, words out. */

const INDENT = /^(\s*)((?:- +|-$)*)/;
const KEY = /^([A-Za-z_][\w.-]*|"[^"]*"):(?=\s|$)/;
const ITEM = "[]";

/** Where a line has its text, and its dashes before it: `  - name: a` has a dash at 2 and its key at 4. */
function partsOf(line) {
  const [all, spaces, dashes] = INDENT.exec(line);
  const marks = [...dashes.matchAll(/-/g)].map((mark) => spaces.length + mark.index);
  return { at: all.length, marks, text: line.slice(all.length) };
}

/**
 * The path to the mapping in which a line stands, from the lines above it: keys before column `limit`, and dashes before
 * column `dash`, which is less after a dash, since a list may stand below its key without an indent.
 */
function pathAbove(lines, limit, dash) {
  const path = [];
  for (const line of lines.toReversed()) {
    const { at, marks, text } = partsOf(line);
    if (!text || text.startsWith("#")) continue;
    const [, key] = KEY.exec(text) ?? [];
    if (key && at < limit) {
      path.unshift(key);
      limit = dash = at;
    }
    for (const mark of marks.toReversed()) {
      if (mark >= dash) continue;
      path.unshift(ITEM);
      [limit, dash] = [mark + 1, mark];
    }
    if (limit === 0) break;
  }
  return path;
}

/** The place before the caret: the path to it, the word that was begun, and whether that is a key or its value. */
export function placeAt(text, caret) {
  const lines = text.slice(0, caret).split("\n");
  const { at, marks, text: own } = partsOf(lines.pop());
  const [outer] = marks;
  const above = outer === undefined ? pathAbove(lines, at, at) : pathAbove(lines, outer + 1, outer);
  const path = [...above, ...marks.map(() => ITEM)];
  const key = KEY.exec(own);
  if (!key) return { path, word: own, isKey: true };
  return { path: [...path, key[1]], word: own.slice(key[0].length).trimStart(), isKey: false };
}

/** The schema's alternatives at a place. */
function variantsOf(schema, node) {
  if (!node) return [];
  if (node.$ref) return variantsOf(schema, { ...schema.$defs[node.$ref.split("/").at(-1)], ...node, $ref: undefined });
  const among = node.oneOf ?? node.anyOf;
  return among && !node.properties ? among.flatMap((one) => variantsOf(schema, one)) : [node]; // else they only say what goes together
}

function nodesAt(schema, path) {
  return path.reduce((nodes, part) => nodes.flatMap((node) => variantsOf(schema, node))
    .map((node) => (part === ITEM ? node.items : node.properties?.[part])).filter(Boolean), [schema]);
}

/** The words that may come next: `{label, about, insert}`; `more` has values by field, such as zones. */
export function wordsAt(schema, text, caret, more = {}) {
  const { path, word, isKey } = placeAt(text, caret);
  const nodes = nodesAt(schema, path);
  const variants = nodes.flatMap((node) => variantsOf(schema, node));
  const found = isKey ? keysOf(schema, variants) : [...valuesOf(variants), ...(more[path.at(-1)] ?? [])];
  const examples = isKey ? [] : nodes.flatMap((node) => node.examples ?? []).filter((one) => typeof one === "string" && !one.includes("\n"))
    .map((one) => ({ label: one, about: "an example", insert: spelled(one) }));
  const known = new Map([...examples, ...found].map((one) => [one.label, one]));
  return { from: caret - word.length, words: [...known.values()] };
}

function keysOf(schema, variants) {
  return variants.flatMap((node) => Object.entries(node.properties ?? {})).map(([label, node]) => {
    const kinds = variantsOf(schema, node).map(({ type }) => type);
    const isNested = kinds.every((kind) => kind === "object" || kind === "array");
    return { label, about: node.description ?? "", insert: isNested ? `${label}:` : `${label}: ` };
  });
}

const valuesOf = (variants) => variants.flatMap((node) => node.enum ?? (node.type === "boolean" ? [true, false] : []))
  .map((value) => ({ label: String(value), about: "", insert: String(value) }));

/** A text as a value: in quotes where YAML would take it for something else. */
export const spelled = (text) => (/^[A-Za-z][\w./:@ -]*$/.test(text) && !/: |:$/.test(text) ? text : JSON.stringify(text));
