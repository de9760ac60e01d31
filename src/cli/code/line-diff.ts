/**
 * Maximum number of line pairs (old lines times new lines) that a diff compares. If two texts have
 * more pairs, the diff shows all lines from the first to the last change as replaced.
 */
const PAIRS_MAX = 4_000_000;
/** Number of unchanged lines that a diff shows before and after each change. */
const CONTEXT_LINES = 3;

type Line = [mark: " " | "-" | "+", text: string];

/**
 * Compares two texts by lines. Returns the changed lines and `CONTEXT_LINES` unchanged lines around
 * them, marked as in a unified diff. The line `@@` stands for unchanged lines that are left out.
 */
export function lineDiff(before: string, after: string): string[] {
  const lines = diffOf(linesOf(before), linesOf(after));
  const changed = lines.flatMap(([mark], at) => (mark === " " ? [] : [at]));
  const shown: string[] = [];
  let next = 0;
  let last = -1;
  for (const [at, [mark, text]] of lines.entries()) {
    while (next < changed.length && changed[next]! + CONTEXT_LINES < at) next++;
    const near = changed[next];
    if (near === undefined || near - CONTEXT_LINES > at) continue;
    if (at > last + 1) shown.push("@@");
    shown.push(mark + text);
    last = at;
  }
  return shown;
}

function linesOf(text: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  if (lines.at(-1) === "") return lines.slice(0, -1);
  return [...lines.slice(0, -1), `${lines.at(-1)} (no line end)`];
}

function diffOf(before: string[], after: string[]): Line[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  const room = Math.min(before.length, after.length) - start;
  while (end < room && before.at(-1 - end) === after.at(-1 - end)) end++;
  const keep = (lines: string[]) => lines.map((text): Line => [" ", text]);
  return [
    ...keep(before.slice(0, start)),
    ...middleOf(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...keep(end === 0 ? [] : before.slice(-end)),
  ];
}

/**
 * Compares two lists of lines by longest common subsequence. The caller has removed the lines at
 * the beginning and at the end that are equal in both lists.
 */
function middleOf(before: string[], after: string[]): Line[] {
  const removed = before.map((text): Line => ["-", text]);
  const added = after.map((text): Line => ["+", text]);
  if (before.length * after.length > PAIRS_MAX) return [...removed, ...added];
  const width = after.length + 1;
  // Length of the longest common subsequence of the lines from each pair of positions on.
  const lengths = new Uint32Array((before.length + 1) * width);
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        before[i] === after[j]
          ? lengths[(i + 1) * width + j + 1]! + 1
          : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!);
    }
  }
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < before.length && j < after.length) {
    if (before[i] === after[j]) {
      lines.push([" ", before[i]!]);
      i++;
      j++;
    } else if (lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!) {
      lines.push(removed[i++]!);
    } else lines.push(added[j++]!);
  }
  return [...lines, ...removed.slice(i), ...added.slice(j)];
}
