/**
 * Milliseconds between two measurements of guests that have a request. The fastest memory growth of
 * a guest that was measured is 2.3 GB/s.
 */
export const GUEST_MEMORY_POLL_MS = 25;
/** Maximum bytes of one frame from host to guest. */
export const GUEST_FRAME_BYTES_MAX = 64 << 20;
/** Maximum bytes of one frame from guest to host. A guest that sends a larger one is killed. */
export const GUEST_ANSWER_BYTES_MAX = 5 << 20;
/** Maximum number of outputs in one reply of a guest. */
export const GUEST_ANSWER_OUTPUTS_MAX = 10_000;
/**
 * Maximum UTF-16 units of JSON that the errors in one reply have together. Beyond it, errors are
 * cut to their first characters.
 */
export const GUEST_ERRORS_CHARS_MAX = 65_536;
/**
 * Maximum number of threads of a guest, whose runtime starts about ten. A guest with more is
 * killed.
 */
export const GUEST_THREADS_MAX = 256;
/**
 * Maximum number of programs in one guest. Before it loads another, the least recently used one is
 * unloaded.
 */
export const GUEST_PROGRAMS_MAX = 256;
/**
 * Maximum CPU time of a guest's start in milliseconds. A start that uses no CPU time for this long
 * counts as hung.
 */
export const GUEST_START_MS_MAX = 20_000;
/**
 * CPU debt in milliseconds above which a guest may be paused so that others can compute. The debt
 * is the CPU time beyond half of an equal share of the processors. The limit is lower while more
 * guests compute than there are processors.
 */
export const GUEST_BURST_CPU_MS_MAX = 250;
