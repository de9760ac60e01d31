// File destinations
/** Maximum number of events in one write to a file. */
export const FILE_BATCH_EVENTS_MAX = 1_000;
/**
 * Maximum bytes of an incomplete last line that is deleted when the file is opened. A longer line
 * is kept. The maximum is far above the 3 MiB that a line written by pixelmill can have.
 */
export const FILE_LINE_BYTES_MAX = 64 << 20;
/** Smallest rotation size of a file destination, in bytes. */
export const FILE_ROTATE_BYTES_MIN = 1_024;
/** Largest rotation size of a file destination, in bytes. */
export const FILE_ROTATE_BYTES_MAX = 2 ** 40;
/** Longest rotation age of a file destination, in milliseconds. */
export const FILE_ROTATE_MS_MAX = 604_800_000;
/** Maximum number of rotated files that a file destination may keep. */
export const FILES_KEPT_MAX = 100_000;
/** Longest time, in milliseconds, for which a file destination may keep rotated files. */
export const FILE_KEEP_MS_MAX = 315_360_000_000;
/** Maximum length of a file destination's path, in characters. */
export const FILE_PATH_CHARS_MAX = 1_024;
