import { readFileSync } from "node:fs";

/** For files, the catalog and the event loop; never more than half of what there is. */
const OTHER_DESCRIPTORS_MAX = 128;

/** Descriptors that this process may have, and connections that leave enough for the rest. */
export interface Descriptors {
  max: number;
  connectionsMax: number;
}

/** Infinite where the system does not tell. */
export function readDescriptors(): Descriptors {
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
