/**
 * Bytes of memory below which a lane counts as small. For a small lane, the memory bounds of its
 * workspace and of all lanes together are twice as high.
 */
export const LANE_HELD_BYTES_MIN = 256 << 10;
/**
 * Largest number of replayed events in progress at a time in one lane. They do not count against
 * its live events.
 */
export const LANE_REPLAYS_EVENTS_MAX = 256;
/**
 * Time in milliseconds for which all attempts must fail until the destination counts as down.
 * Events older than the retry window are then given up without an attempt.
 */
export const DOWN_MS_MIN = 10_000;
