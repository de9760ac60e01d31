import { mkdtempSync, rmSync } from "node:fs";

/** Makes a directory with a new name that begins with `prefix`. Disposing of it removes it. */
export function temporaryDirectory(prefix: string): Disposable & { path: string } {
  const path = mkdtempSync(prefix);
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
