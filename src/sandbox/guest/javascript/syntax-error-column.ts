/**
 * Returns the column (1-based) of the first syntax error of code, which is in `line`.
 * JavaScriptCore reports only the line. Bun's transpiler, which is another parser, finds the column
 * of most errors. Returns 1 when the two parsers find different lines.
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
