/** A definition as its job file would say it, and the change from one to another. */

import { writeExact } from "./exactjson.js";
import { yamlLines } from "./yaml.js";

const isWords = (value) => Array.isArray(value) && value.every((word) => typeof word === "string");

const shellWord = (word) => (/^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`);

/** Commands as the line that a person writes, also in steps, handlers and preconditions. */
function asWritten(value, key) {
  if (key === "command" && isWords(value)) return value.map(shellWord).join(" ");
  if (Array.isArray(value)) return value.map((one) => asWritten(one));
  if (value === null || typeof value !== "object" || value.constructor !== Object) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, asWritten(one, name)]));
}

/** Its lines, each a list of pieces [text, kind]. */
export const definitionLines = (definition) => yamlLines({ ...asWritten({ ...definition, params: undefined }), ...(definition.params ? { params: definition.params } : {}) });

export const definitionText = (definition) => `${definitionLines(definition).map((line) => line.map(([text]) => text).join("")).join("\n")}\n`;

/** What to merge into one value so that it becomes the other (RFC 7396); undefined if nothing. */
export function mergePatch(before, after) {
  const patch = {};
  for (const name of Object.keys(before)) if (!(name in after)) patch[name] = null;
  for (const [name, value] of Object.entries(after)) {
    if (writeExact(value) === writeExact(before[name] ?? null)) continue;
    const isMapping = (one) => one?.constructor === Object;
    patch[name] = isMapping(value) && isMapping(before[name]) ? mergePatch(before[name], value) : value;
  }
  return patch;
}
