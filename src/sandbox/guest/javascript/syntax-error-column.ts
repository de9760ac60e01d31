/**
 * Returns the column (1-based) of the first syntax error of `code`, which is in the line `line`.
 * JavaScriptCore reports only the line, so Bun's transpiler, a different parser, is used to find
 * the column. Returns 1 when the transpiler finds no error, or finds it in another line.
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
