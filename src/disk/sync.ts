import { closeSync, fsyncSync, openSync } from "node:fs";

/** Makes created and removed names durable; the data of a file alone does not keep its name. */
export function syncDirectory(directory: string): void {
  const fd = openSync(directory, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
