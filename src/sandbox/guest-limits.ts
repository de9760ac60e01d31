/**
 * Time between two measurements of busy guests (the fastest memory growth measured is 2.3 GB/s).
 */
export const GUEST_MEMORY_POLL_MS = 25;
/** Bytes of one message from host to guest. */
export const GUEST_FRAME_BYTES_MAX = 64 << 20;
/** Bytes of one message from guest to host; a guest that sends more is killed. */
export const GUEST_ANSWER_BYTES_MAX = 5 << 20;
/** Outputs of one answer. */
export const GUEST_ANSWER_OUTPUTS_MAX = 10_000;
/**
 * UTF-16 units of JSON of the errors of one answer; beyond it, errors are cut to their first
 * characters.
 */
export const GUEST_ERRORS_CHARS_MAX = 65_536;
/** Threads of a guest (its runtime makes about ten); a guest that has more is killed. */
export const GUEST_THREADS_MAX = 256;
/** Programs loaded in one guest; the least recently used one is unloaded first. */
export const GUEST_PROGRAMS_MAX = 256;
/** CPU time of a guest's start, and how long it may use none before it counts as hung. */
export const GUEST_START_MS_MAX = 20_000;
/**
 * CPU time beyond half of an equal share that a guest may owe, while few guests compute, before it
 * is paused by turns.
 */
export const GUEST_BURST_CPU_MS_MAX = 250;
