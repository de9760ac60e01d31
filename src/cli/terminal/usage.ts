import { wrap } from "./text.ts";

const COLUMNS_MAX = 80;
/** Largest column at which descriptions begin; a longer flag has a line of its own. */
const INDENT_MAX = 44;

/**
 * Breaks the long lines of a usage text, so that it fits 80 columns. The rest of a description is
 * indented below its first line.
 */
export function fitUsage(text: string): string {
  const columns = Math.min(COLUMNS_MAX, process.stdout.columns || COLUMNS_MAX);
  return text
    .split("\n")
    .flatMap((line) => {
      if (Bun.stringWidth(line) <= columns) return [line];
      const before = /^ +.*?\S {2,}(?=\S)/.exec(line)?.[0] ?? "";
      const indent = Math.min(INDENT_MAX, Bun.stringWidth(before));
      const lines = wrap(line.slice(before.length), columns - indent);
      const indented = lines.map((part) => " ".repeat(indent) + part);
      if (Bun.stringWidth(before) > indent) return [before.trimEnd(), ...indented];
      return [before + lines[0], ...indented.slice(1)];
    })
    .join("\n");
}
