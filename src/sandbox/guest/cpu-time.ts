// Taken before the realm is sealed.
const { cpuUsage } = process;

const READING_MS_MAX = 5;

let reading = 0;
let readAt = Number.NEGATIVE_INFINITY;

/** CPU time of this process in ms, of all threads: the compiler's work for user code counts. */
export function cpuTimeMs(): number {
  const { user, system } = cpuUsage();
  reading = (user + system) / 1_000;
  readAt = performance.now();
  return reading;
}

/**
 * CPU time at most a few milliseconds ago, as a start to count from: a system call at each batch
 * takes a tenth of the time of a batch of one event.
 */
export function recentCpuTimeMs(): number {
  return performance.now() - readAt < READING_MS_MAX ? reading : cpuTimeMs();
}
