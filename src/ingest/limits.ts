/**
 * Time that an ingest process has for answers and its last flush when the server asks it to end.
 */
export const INGEST_CLOSE_MS_MAX = 5_000;
/** Pause between two pulses, by which an ingest process shows that it lives. */
export const INGEST_PULSE_MS = 1_000;
