/** A Markdown table; `right` names the columns whose cells are aligned to the right. */
export function table(columns: string[], rows: string[][], right: string[] = []): string {
  const line = (cells: string[]) => `| ${cells.join(" | ")} |\n`;
  const rule = columns.map((column) => (right.includes(column) ? "---:" : "---"));
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll("|", "\\|")));
  return [columns, rule, ...cells].map(line).join("");
}
