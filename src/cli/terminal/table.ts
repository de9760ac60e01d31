import { fit, pad, plain } from "./text.ts";

/** Minimum width, in terminal columns, to which a column of a table is reduced. */
const COLUMN_WIDTH_MIN = 6;
const GAP = "  ";

/**
 * Formats rows as lines of a table. The first row is the heading. Columns of numbers are aligned
 * right. The widest columns are cut when a line would be longer than `width`. Control characters
 * are escaped.
 */
export function table(rows: readonly (readonly string[])[], width: number): string[] {
  const safe = rows.map((row) => row.map(plain));
  const widths = safe[0]!.map((_, at) => Math.max(...safe.map((row) => Bun.stringWidth(row[at]!))));
  shrink(widths, width - GAP.length * (widths.length - 1));
  const sides = widths.map((_, at) =>
    safe.slice(1).every((row) => /^([<\d][\d.,]*\S{0,3}|)$/.test(row[at]!)) ? "right" : "left",
  );
  return safe.map((row) =>
    row
      .map((cell, at) => pad(fit(cell, widths[at]!), widths[at]!, sides[at] as "left" | "right"))
      .join(GAP)
      .trimEnd(),
  );
}

/**
 * Reduces the greatest of `widths`, step by step, until their sum is at most `sum` or none is above
 * `COLUMN_WIDTH_MIN`.
 */
function shrink(widths: number[], sum: number): void {
  for (let surplus = widths.reduce((all, width) => all + width, -sum); surplus > 0; surplus--) {
    const widest = Math.max(...widths);
    if (widest <= COLUMN_WIDTH_MIN) return;
    widths[widths.lastIndexOf(widest)]! -= 1;
  }
}
