/** Milliseconds in which a closing ingest process must send its responses and flush its log. */
export const INGEST_CLOSE_MS_MAX = 5_000;
/**
 * Milliseconds between two pulses, the messages by which an ingest process shows the server that it
 * is alive.
 */
export const INGEST_PULSE_MS = 1_000;
/**
 * Milliseconds in which an ingest process must report its metrics. If it takes longer, its metrics
 * are left out.
 */
export const INGEST_METRICS_MS_MAX = 1_000;
/**
 * Maximum number of times that the time limit for one step of an ingest process's start is
 * extended. Each extension requires that the process made progress since the last one.
 */
export const INGEST_START_EXTENSIONS_MAX = 5;
/** Number of pulses that may be missing in a row while the process still counts as ready. */
export const INGEST_PULSES_LATE_MAX = 3;
/**
 * Number of missing pulses in a row after which an ingest process is killed even if it makes
 * progress (uses the CPU, or waits for the CPU or a disk). Without progress,
 * `INGEST_PULSES_MISSED_MAX` applies.
 */
export const INGEST_PULSES_SLOW_MAX = 120;
