/** Colours of terminals: a line as pieces of text, each with the classes of its style. Other escapes are left out. */

const ESCAPE = /\u001b(?:\[([0-9;?]*)([A-Za-z])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[()][A-Za-z0-9])/g;
const STYLES = { 1: "bold", 2: "dim", 3: "italic", 4: "underline" };

export const plain = (line) => line.replace(ESCAPE, "");

export function pieces(line) {
  if (!line.includes("\u001b")) return [{ text: line, kind: "" }];
  const found = [];
  let style = { colour: "", ways: new Set() };
  let from = 0;
  const take = (until) => until > from && found.push({ text: line.slice(from, until), kind: [style.colour, ...style.ways].filter(Boolean).join(" ") });
  for (const match of line.matchAll(ESCAPE)) {
    take(match.index);
    from = match.index + match[0].length;
    if (match[2] === "m") style = styled(style, match[1]);
  }
  take(line.length);
  return found;
}

/** The style after these codes; colours of 256 or more are told by the nearest of the sixteen, if they are among them. */
function styled(style, codes) {
  let { colour, ways } = { colour: style.colour, ways: new Set(style.ways) };
  const given = codes.split(";").map(Number);
  for (let place = 0; place < given.length; place += 1) {
    const code = given[place];
    if (code === 0) [colour, ways] = ["", new Set()];
    else if (STYLES[code]) ways.add(`ansi-${STYLES[code]}`);
    else if (code === 22) (ways.delete("ansi-bold"), ways.delete("ansi-dim"));
    else if (code === 39) colour = "";
    else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) colour = `ansi-${code % 10}`;
    else if (code === 38 || code === 48) place += given[place + 1] === 5 ? 2 : 4;
  }
  return { colour, ways };
}
