/**
 * Column of the first syntax error in a line, 1-based. JavaScriptCore reports the line alone; Bun's
 * transpiler, another parser, finds the column of most errors. 1 when the two disagree.
 */
export function columnOfSyntaxError(code: string, line: number): number {
  try {
    new Bun.Transpiler({ loader: "js" }).scan(code);
  } catch (error) {
    const first = (error as AggregateError).errors?.[0] ?? error;
    const position = (first as { position?: { line: number; column: number } }).position;
    if (position?.line === line) return position.column;
  }
  return 1;
}
