import { wrap } from "./text.ts";

const COLUMNS_MAX = 80;
/**
 * Maximum column at which the descriptions of a usage text begin. A flag that needs more columns
 * stands on a line above its description.
 */
const INDENT_MAX = 44;

/**
 * Breaks the lines of a usage text that are longer than the terminal's width or 80 columns,
 * whichever is less. Further lines of a description are aligned with its first line.
 */
export function fitUsage(text: string): string {
  const columns = Math.min(COLUMNS_MAX, process.stdout.columns || COLUMNS_MAX);
  return text
    .split("\n")
    .flatMap((line) => {
      if (Bun.stringWidth(line) <= columns) return [line];
      const before = /^ +.*?\S {2,}(?=\S)/.exec(line)?.[0] ?? "";
      const indent = Math.min(INDENT_MAX, columns >> 1, Bun.stringWidth(before));
      const lines = wrap(line.slice(before.length), columns - indent);
      const indented = lines.map((part) => " ".repeat(indent) + part);
      if (Bun.stringWidth(before) > indent) return [before.trimEnd(), ...indented];
      return [before + lines[0], ...indented.slice(1)];
    })
    .join("\n");
}
