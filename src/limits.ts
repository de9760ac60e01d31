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
/**
 * Sum of the lengths of an event's arrays. Gaps are written as `null`, so without it 32 KB of
 * `a.999.999.999=` would become 35 MB of JSON; with it, 0.5 MB.
 */
export const PIXEL_ARRAY_ELEMENTS_MAX = 100_000;
export const PIXEL_NUMBER_DIGITS_MAX = 15;
export const IDLE_CONNECTION_SECONDS_MAX = 10;

// Event log
/** Blocks on disk are at most this long; it may grow, but never shrink: older logs hold them. */
export const LOG_BLOCK_BYTES_MAX = 1 << 20;
export const LOG_SEGMENT_BYTES_MAX = 64 << 20;
/** Records that wait for the disk; beyond it the pixel answers 503. */
export const LOG_PENDING_BYTES_MAX = 64 << 20;
/** How long an opening writer waits for an old process to let go of the directory. */
export const LOG_LOCK_MS_MAX = 10_000;
/** Between two attempts to write to a disk that failed. */
export const LOG_PROBE_MS = 250;
export const LOG_READ_WINDOW_BYTES = 256 << 10;
/** Blocks kept in memory by a reader; lanes at the tail share them. */
export const LOG_CACHE_BYTES_MAX = 16 << 20;
/** A reader remembers where a block starts at most once per so many bytes of a segment. */
export const LOG_INDEX_STRIDE_BYTES = 64 << 10;

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

// Catalog
export const CREDENTIAL_NAME_CHARS_MAX = 1_024;
export const CREDENTIAL_VALUE_CHARS_MAX = 65_536;
/** Earlier live windows that a connection remembers when it is paused again and again. */
export const CONNECTION_WINDOWS_MAX = 16;
/** Transformations whose live program is kept in memory; the longest unchanged one goes first. */
export const LIVE_PROGRAMS_MAX = 4_096;

// Authentication
export const TOKEN_RANDOM_BITS = 192;
/** `lastUsedAt` is written at most this late (decisions §5: 3 s). */
export const TOKEN_USE_FLUSH_MS = 2_000;

// Publishing
/** Times that code is tested again because published code changed meanwhile. */
export const PUBLISH_ATTEMPTS_MAX = 5;
/** Throw-away guests that one request has at once. */
export const PUBLISH_CHECKS_AT_ONCE = 4;
/** Of one error of user code, in an answer. */
export const ERROR_MESSAGE_CHARS_MAX = 2_048;

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
export const GUEST_MEMORY_BYTES_MAX = 256 << 20;
export const GUEST_MEMORY_POLL_MS = 25;
export const GUEST_FRAME_BYTES_MAX = 64 << 20;
export const GUEST_LOGS_MAX = 1_000;
export const GUEST_LOG_CHARS_MAX = 4_096;
export const GUEST_WARM_SPARES = 1;
export const GUEST_EVENTS_MAX = 1_000_000;
export const GUEST_AGE_MS_MAX = 600_000;
export const GUEST_PROGRAMS_MAX = 256;

// Process
export const SHUTDOWN_MS_MAX = 10_000;
