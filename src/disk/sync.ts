import { closeSync, fsyncSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Makes a file durable, or the names that a directory holds: syncing a file alone does not keep its
 * name.
 */
export function syncPath(path: string): void {
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Makes a directory and those above that are missing; their names are durable when it returns. */
export function makeDirectory(directory: string, mode?: number): void {
  const first = mkdirSync(directory, { recursive: true, ...(mode !== undefined && { mode }) });
  if (first === undefined) return;
  for (let made = directory; ; made = dirname(made)) {
    syncPath(dirname(made));
    if (made === first || made === dirname(made)) return;
  }
}
