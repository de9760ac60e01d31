/**
 * Milliseconds between two measurements of the memory, CPU time and threads of a guest process
 * (which runs user code) during a request. Short, because the memory of a guest grew by up to 2.3
 * GB/s in tests.
 */
export const GUEST_MEMORY_POLL_MS = 25;
/** Maximum size in bytes of one frame (message) that the server sends to a guest process. */
export const GUEST_FRAME_BYTES_MAX = 64 << 20;
/**
 * Maximum size in bytes of one frame that a guest process sends to the server. A guest that sends a
 * larger frame is killed.
 */
export const GUEST_ANSWER_BYTES_MAX = 5 << 20;
/** Maximum number of output events in one reply of a guest process. */
export const GUEST_ANSWER_OUTPUTS_MAX = 10_000;
/**
 * Maximum total length, in UTF-16 units of JSON, of the errors in one reply of a guest process.
 * Errors beyond it are cut to their first characters.
 */
export const GUEST_ERRORS_CHARS_MAX = 65_536;
/**
 * Maximum number of threads of a guest process; its runtime starts about ten. A guest with more
 * threads is killed.
 */
export const GUEST_THREADS_MAX = 256;
/**
 * Maximum number of programs (user code with its libraries) that one guest process keeps loaded.
 * Before it loads another one, it unloads the least recently used program.
 */
export const GUEST_PROGRAMS_MAX = 256;
/**
 * Maximum CPU time in milliseconds that a guest process may use to start. A starting process that
 * uses no CPU time for this long counts as hung.
 */
export const GUEST_START_MS_MAX = 20_000;
/**
 * CPU debt in milliseconds above which a guest process may be paused for other guests. The debt is
 * the CPU time that the guest used beyond half of its equal share of the processors. The limit is
 * lower while more guests compute than there are processors.
 */
export const GUEST_BURST_CPU_MS_MAX = 250;
