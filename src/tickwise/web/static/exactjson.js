/**
 * JSON whose numbers keep all their digits.
 *
 * Numbers that JSON.parse would round are put into quotes behind a mark before it sees them; the mark is drawn
 * anew with each page, so that no text can bear it. They come out as `Exact` and go back as they were written.
 */

const MARK = `exact-${crypto.getRandomValues(new Uint32Array(2)).join("-")}:`;
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const MARKED = new RegExp(`"${MARK}([^"]*)"`, "g");
const SAFE_DIGITS = 15;

/** A number by its digits. */
export class Exact {
  constructor(digits) {
    this.digits = digits;
  }

  toJSON() {
    return MARK + this.digits;
  }
}

export function parseExact(text) {
  const marked = text.replace(TOKENS, (token) => (isRounded(token) ? `"${MARK}${token}"` : token));
  return marked === text ? JSON.parse(text) : JSON.parse(marked, revive);
}

export const writeExact = (value, indent) => JSON.stringify(value, null, indent).replace(MARKED, "$1");

const revive = (_, value) =>
  typeof value === "string" && value.startsWith(MARK) ? new Exact(value.slice(MARK.length)) : value;

function isRounded(token) {
  if (token[0] === '"' || token.length <= SAFE_DIGITS) return false;
  const digits = token.replace(/[eE].*/, "").replace(/[-.]/g, "").replace(/^0+/, "");
  return digits.length > SAFE_DIGITS && String(Number(token)) !== token;
}
