/**
 * A lane that holds less than this may go on until its workspace, and all lanes, hold twice their
 * bounds.
 */
export const LANE_HELD_BYTES_MIN = 256 << 10;
/** Replays of one lane that are under way at the same time, beside its live events. */
export const LANE_REPLAYS_EVENTS_MAX = 256;
/**
 * A destination counts as down when all attempts have failed for this long; events past the retry
 * window are then given up without an attempt.
 */
export const DOWN_MS_MIN = 10_000;
