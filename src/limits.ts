/**
 * Every bound of the service, its unit in its name. The README's table of limits is checked
 * against this file by a test. Relations between bounds are asserted at the end.
 */

// Pixel API (specification §8, decisions §6)
export const PIXEL_TARGET_BYTES_MAX = 32_768;
/** Head size at which the HTTP server itself answers 431; our own 414 must come first. */
export const HTTP_HEAD_BYTES_MAX = 262_144;
export const PIXEL_PARAMETERS_MAX = 1_000;
export const PIXEL_LEVELS_MAX = 16;
export const PIXEL_ARRAY_INDEX_MAX = 999;
export const PIXEL_NUMBER_DIGITS_MAX = 15;
export const IDLE_CONNECTION_SECONDS_MAX = 10;

// Event log
export const LOG_BLOCK_BYTES_MAX = 1 << 20;
export const LOG_SEGMENT_BYTES_MAX = 64 << 20;
/** Records that wait for the disk; beyond it the pixel answers 503. */
export const LOG_PENDING_BYTES_MAX = 64 << 20;

// Transformations API (decisions §4)
export const BODY_BYTES_MAX = 4 << 20;
export const CODE_BYTES_MAX = 1 << 20;
export const NAME_CHARS_MAX = 255;
export const DESCRIPTION_CHARS_MAX = 4_096;
export const TEST_EVENTS_MAX = 500;
export const JSON_LEVELS_MAX = 64;
export const VERSIONS_COUNT_DEFAULT = 5;
export const VERSIONS_COUNT_MAX = 1_000;
export const PAGE_ITEMS_MAX = 100;
export const PUBLISH_ITEMS_MAX = 500;

// Authentication
export const TOKEN_RANDOM_BITS = 192;
/** `lastUsedAt` is written at most this late (decisions §5: 3 s). */
export const TOKEN_USE_FLUSH_MS = 2_000;

// Pipeline
/** Events of one lane that are read but not yet settled. */
export const LANE_WINDOW_EVENTS_MAX = 1_024;
export const LANE_WINDOW_BYTES_MAX = 16 << 20;
/** Deliveries of one lane under way at once; a user's events always take the same one. */
export const LANE_PARTITIONS = 8;
export const TRANSFORM_BATCH_EVENTS_MAX = 100;
export const RETRY_DELAY_MS_MIN = 500;
export const RETRY_DELAY_MS_MAX = 60_000;
export const DEAD_LETTERS_PAGE_MAX = 1_000;

// Destinations
export const WEBHOOK_BATCH_EVENTS_MAX = 1_000;
export const WEBHOOK_TIMEOUT_MS_DEFAULT = 10_000;
export const WEBHOOK_TIMEOUT_MS_MAX = 60_000;
export const WEBHOOK_ANSWER_BYTES_MAX = 65_536;
export const WEBHOOK_HEADERS_MAX = 50;

// Sandbox (decisions §7)
export const GUEST_CPU_MS_MAX = 4_000;
/** From the guest's own timeout to the host's SIGKILL. */
export const GUEST_KILL_GRACE_MS = 500;
/** A guest that neither computes nor answers (the machine is busy, or it sleeps) has this long. */
export const GUEST_WALL_MS_MAX = 20_000;
/** Events of one batch that may each use up the whole budget; the rest get the short one. */
export const GUEST_CULPRITS_MAX = 4;
export const GUEST_SHORT_CPU_MS_MAX = 100;
/** Above what an idle guest has. */
export const GUEST_MEMORY_BYTES_MAX = 256 << 20;
/** Pages of memory that a guest may map, its runtime included (`ulimit -v`). */
export const GUEST_ADDRESS_KIB_MAX = 700_000;
/** Above what an idle guest has, after a batch: it is replaced before it reaches its limit. */
export const GUEST_RECYCLE_MEMORY_BYTES = 150 << 20;
/** Memory and CPU of busy guests are read this often (2.3 GB/s is the fastest growth measured). */
export const GUEST_MEMORY_POLL_MS = 25;
export const GUEST_FRAME_BYTES_MAX = 64 << 20;
/** Events that go to a guest at once; a larger batch goes in parts. */
export const GUEST_INPUT_BYTES_MAX = 4 << 20;
/** Output of one frame's events, in UTF-16 units: at most three bytes each. */
export const GUEST_OUTPUT_CHARS_MAX = 16 << 20;
export const GUEST_ERROR_CHARS_MAX = 4_096;
export const GUEST_LOGS_MAX = 1_000;
export const GUEST_LOG_CHARS_MAX = 4_096;
export const GUEST_STDERR_BYTES_MAX = 8_192;
export const GUEST_WARM_SPARES = 1;
/** Guests alive at once; an idle one makes room for another workspace. */
export const GUESTS_MAX = 64;
export const GUEST_EVENTS_MAX = 1_000_000;
export const GUEST_AGE_MS_MAX = 600_000;
export const GUEST_IDLE_MS_MAX = 60_000;
export const GUEST_PROGRAMS_MAX = 256;
/** A guest that does not even start is tried again after this long, doubled each time. */
export const GUEST_RESTART_DELAY_MS_MIN = 100;
export const GUEST_RESTART_DELAY_MS_MAX = 30_000;
export const GUEST_START_MS_MAX = 20_000;

// Process
export const SHUTDOWN_MS_MAX = 10_000;
