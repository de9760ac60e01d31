// File destinations
/** Events in one write to a file. */
export const FILE_BATCH_EVENTS_MAX = 1_000;
/** Longest incomplete last line that opening a file repairs; an event is 3 MiB at most. */
export const FILE_LINE_BYTES_MAX = 64 << 20;
/** Smallest rotation size of a file destination, in bytes. */
export const FILE_ROTATE_BYTES_MIN = 1_024;
/** Largest rotation size of a file destination, in bytes. */
export const FILE_ROTATE_BYTES_MAX = 2 ** 40;
/** Longest rotation age of a file destination. */
export const FILE_ROTATE_MS_MAX = 604_800_000;
/** Maximum number of rotated files that a file destination may keep. */
export const FILES_KEPT_MAX = 100_000;
/** Longest time for which a file destination may keep rotated files. */
export const FILE_KEEP_MS_MAX = 315_360_000_000;
/** Length of a file destination's path. */
export const FILE_PATH_CHARS_MAX = 1_024;
