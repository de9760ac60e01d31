import { readFileSync } from "node:fs";

/**
 * Maximum number of file descriptors that are reserved for files, the catalog (the database of
 * settings) and the event loop. At most half of the process's descriptors are reserved.
 */
const OTHER_DESCRIPTORS_MAX = 128;

/**
 * Reads how many file descriptors this process may open (`max`), and how many of them client
 * connections may use (`connectionsMax`). Both are infinite when the operating system does not
 * state them.
 */
export function readDescriptorLimits() {
  const max = softLimit();
  return { max, connectionsMax: max - Math.min(OTHER_DESCRIPTORS_MAX, Math.floor(max / 2)) };
}

function softLimit(): number {
  try {
    const limits = readFileSync("/proc/self/limits", "latin1");
    return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
