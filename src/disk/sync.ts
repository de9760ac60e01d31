import { fsyncSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { openFile } from "./open-file.ts";

/**
 * Makes a file's content or, for a directory, the names of its files durable. A new file needs two
 * calls: one for the file and one for its directory.
 */
export function syncPath(path: string): void {
  using file = openFile(path, "r");
  fsyncSync(file.fd);
}

/** Creates a directory and its missing parents. Their names are durable when it returns. */
export function makeDirectory(directory: string, mode?: number): void {
  const first = mkdirSync(directory, { recursive: true, ...(mode !== undefined && { mode }) });
  if (first === undefined) return;
  for (let made = directory; ; made = dirname(made)) {
    syncPath(dirname(made));
    if (made === first || made === dirname(made)) return;
  }
}
