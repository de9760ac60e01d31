/** A lane that holds less may go on until its workspace, and all, hold twice what they may. */
export const LANE_HELD_BYTES_MIN = 256 << 10;
/** Replays of one lane that are on their way at once, beside its live events. */
export const LANE_REPLAYS_EVENTS_MAX = 256;
/** Failing for so long a destination is down: events past the retry window go untried. */
export const DOWN_MS_MIN = 10_000;
