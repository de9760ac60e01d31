/** Milliseconds in which a closing ingest process must send its responses and flush its log. */
export const INGEST_CLOSE_MS_MAX = 5_000;
/**
 * Milliseconds between two pulses, the messages by which an ingest process shows the server that it
 * is alive.
 */
export const INGEST_PULSE_MS = 1_000;
