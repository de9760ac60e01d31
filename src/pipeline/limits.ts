/**
 * Bytes of memory below which a lane (the delivery to one destination) counts as small. For a small
 * lane, the memory bounds of its workspace and of all lanes together are twice as high, so that
 * large lanes cannot stop it.
 */
export const LANE_HELD_BYTES_MIN = 256 << 10;
/**
 * Largest number of replayed events in progress at a time in one lane, the delivery to one
 * destination. They do not count against the lane's new events.
 */
export const LANE_REPLAYS_EVENTS_MAX = 256;
/**
 * Number of events in a batch for user code that is slow, whose events are large, or that is new.
 * `TRANSFORM_BATCH_EVENTS_MAX` is the number for other code.
 */
export const TRANSFORM_BATCH_EVENTS = 100;
/**
 * Time in milliseconds for which all attempts must fail until the destination counts as down.
 * Events older than the retry window then become dead letters without an attempt.
 */
export const DOWN_MS_MIN = 10_000;
/**
 * Time in milliseconds without events after which a lane (the delivery to one destination) that has
 * nothing left to do closes its destination and frees its memory. Long enough that a destination
 * with an event now and then connects to its receiver once a minute at most.
 */
export const LANE_IDLE_MS = 60_000;
