/**
 * Bytes of memory below which a lane (the delivery to one destination) counts as small. For a small
 * lane, the memory limits of its workspace and of all lanes are doubled, so that large lanes cannot
 * stop it.
 */
export const LANE_HELD_BYTES_MIN = 256 << 10;
/**
 * Maximum number of events of one replay that a lane (the delivery to one destination) processes at
 * a time, unless the lane gathers large deliveries. Requeued dead letters have a separate limit of
 * the same number in every lane.
 */
export const LANE_REPLAYS_EVENTS_MAX = 256;
/**
 * Number of events in a batch for user code that is new or slow, makes large events, or names
 * `fetch` or `geolocation`. Batches for other code have up to `TRANSFORM_BATCH_EVENTS_MAX` events.
 */
export const TRANSFORM_BATCH_EVENTS = 100;
/**
 * Pause in milliseconds before the pipeline repeats a step of its own that failed, such as reading
 * the log. The pause does not grow with the number of failures, because no receiver has to be
 * spared.
 */
export const FAULT_PAUSE_MS = 500;
/**
 * Milliseconds for which all attempts must fail before the destination counts as down. While it is
 * down, events whose retry window has ended become dead letters without an attempt.
 */
export const DOWN_MS_MIN = 10_000;
/**
 * Milliseconds without events after which a lane closes its destination and frees its memory. With
 * this value, a destination with few events connects to its receiver at most once a minute.
 */
export const LANE_IDLE_MS = 60_000;
