import { readFileSync } from "node:fs";

/** Descriptors kept for files, the catalog and the event loop, at most half of all. */
const OTHER_DESCRIPTORS_MAX = 128;

/** The most descriptors of this process, and the most of them that connections may use. */
export interface DescriptorLimits {
  max: number;
  connectionsMax: number;
}

/** Reads the limits of this process; infinite where the system does not tell them. */
export function readDescriptorLimits(): DescriptorLimits {
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
