/**
 * A lane (the delivery to one destination) that holds fewer bytes of memory counts as small. For a
 * small lane, the memory limits of its workspace and of all lanes together are twice as high, so
 * that large lanes cannot stop it.
 */
export const LANE_HELD_BYTES_MIN = 256 << 10;
/**
 * Largest number of replayed events in progress at a time in one lane. They do not count against
 * the lane's new events.
 */
export const LANE_REPLAYS_EVENTS_MAX = 256;
/**
 * Number of events in a batch for user code that is new or slow, or has large events. For other
 * code, up to `TRANSFORM_BATCH_EVENTS_MAX` events.
 */
export const TRANSFORM_BATCH_EVENTS = 100;
/**
 * Milliseconds after which the pipeline repeats a step of its own that failed, such as reading the
 * log. This pause is the same after each failure, because no receiver has to be spared.
 */
export const FAULT_PAUSE_MS = 500;
/**
 * Milliseconds for which all attempts must fail before the destination counts as down. While it is
 * down, events older than the retry window become dead letters without an attempt.
 */
export const DOWN_MS_MIN = 10_000;
/**
 * Milliseconds without events after which an idle lane closes its destination and frees its memory.
 * Long enough that a destination with few events opens a connection to its receiver at most once a
 * minute.
 */
export const LANE_IDLE_MS = 60_000;
