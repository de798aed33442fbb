/** The lines of two texts as one list: [" ", line] in both, ["-", line] only before, ["+", line] only after. */
export function diffLines(before, after) {
  const [a, b] = [before.split("\n"), after.split("\n")];
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1)); // of the longest common rest
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) lengths[i][j] = a[i] === b[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
  }
  const lines = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) (lines.push([" ", a[i]]), (i += 1), (j += 1));
    else if (j >= b.length || (i < a.length && lengths[i + 1][j] >= lengths[i][j + 1])) (lines.push(["-", a[i]]), (i += 1));
    else (lines.push(["+", b[j]]), (j += 1));
  }
  return lines;
}
