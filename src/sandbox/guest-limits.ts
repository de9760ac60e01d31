/**
 * Milliseconds between two measurements of guest processes (which run user code) while they have a
 * request. The fastest measured growth of a guest's memory is 2.3 GB/s.
 */
export const GUEST_MEMORY_POLL_MS = 25;
/**
 * Maximum size in bytes of one frame (message) from the host, which is the server, to a guest
 * process.
 */
export const GUEST_FRAME_BYTES_MAX = 64 << 20;
/**
 * Maximum size in bytes of one frame (message) from a guest process to the host, which is the
 * server. A guest that sends a larger frame is killed.
 */
export const GUEST_ANSWER_BYTES_MAX = 5 << 20;
/** Maximum number of output events in one reply of a guest process. */
export const GUEST_ANSWER_OUTPUTS_MAX = 10_000;
/**
 * Maximum UTF-16 units of JSON that the errors in one reply of a guest process have together.
 * Beyond it, errors are cut to their first characters.
 */
export const GUEST_ERRORS_CHARS_MAX = 65_536;
/**
 * Maximum number of threads of a guest process; its runtime starts about ten. A guest with more
 * threads is killed.
 */
export const GUEST_THREADS_MAX = 256;
/**
 * Maximum number of programs (user code with its libraries) in one guest process. Before it loads
 * another, the least recently used program is unloaded.
 */
export const GUEST_PROGRAMS_MAX = 256;
/**
 * Maximum CPU time in milliseconds that the start of a guest process may use. A start that uses no
 * CPU time for as long counts as hung.
 */
export const GUEST_START_MS_MAX = 20_000;
/**
 * CPU debt in milliseconds above which a guest process may be paused so that other guests can
 * compute. The debt is the CPU time beyond half of an equal share of the processors. The limit is
 * lower while more guests compute than there are processors.
 */
export const GUEST_BURST_CPU_MS_MAX = 250;
