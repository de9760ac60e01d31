// Taken before the realm is sealed.
const { cpuUsage } = process;

const READING_MS_MAX = 5;

let reading = 0;
let readAt = Number.NEGATIVE_INFINITY;

/**
 * Returns the CPU time in ms of all threads of this process. This includes the threads of the
 * JavaScript compiler, which work for user code.
 */
export function cpuTimeMs(): number {
  const { user, system } = cpuUsage();
  reading = (user + system) / 1_000;
  readAt = performance.now();
  return reading;
}

/**
 * Returns the CPU time in ms of this process, from a reading that is at most `READING_MS_MAX` ms
 * old, because an exact reading takes a tenth of the time of a batch with one event.
 */
export function recentCpuTimeMs(): number {
  return performance.now() - readAt < READING_MS_MAX ? reading : cpuTimeMs();
}
