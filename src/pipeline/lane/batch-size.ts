import type { LiveProgram } from "../../catalog/live.ts";
import { TRANSFORM_BATCH_EVENTS_MAX } from "../../settings/limits.ts";
import { TRANSFORM_BATCH_EVENTS } from "../limits.ts";

/**
 * Target time in milliseconds that user code takes for a batch. The number of events in the next
 * batch follows from this target and the time per event in the last batch.
 */
const BATCH_MS = 500;
/**
 * Target size in bytes of the outputs of a batch. The number of events in the next batch follows
 * from this target and the output size per event of recent batches.
 */
const BATCH_OUTPUT_BYTES = 256 << 10;

/**
 * Decides the number of events in a batch for user code. A batch costs half a millisecond besides
 * its events, so batches are large for fast code with small outputs. Code that names `fetch` or
 * `geolocation` gets small ones, because limits such as that of `fetch` requests apply to a whole
 * batch.
 */
export class BatchSize {
  /** Estimated bytes of one event's outputs, from recent batches; 0 before the first batch. */
  bytesPerEvent = 0;
  #msPerEvent = Number.POSITIVE_INFINITY;

  noteOutputBytes(bytesPerEvent: number): void {
    this.bytesPerEvent = Math.max(bytesPerEvent, this.bytesPerEvent / 2);
  }

  /** Stores how long user code ran over a batch: `seconds` seconds for `events` events. */
  noteRun(events: number, seconds: number): void {
    this.#msPerEvent = (1_000 * seconds) / events;
  }

  /** Returns the largest number of events for the next batch over which `program` runs. */
  eventsMax(program: LiveProgram): number {
    if (namesHostCall(program)) return TRANSFORM_BATCH_EVENTS;
    const fitting = Math.min(
      BATCH_MS / this.#msPerEvent,
      BATCH_OUTPUT_BYTES / Math.max(1, this.bytesPerEvent),
      TRANSFORM_BATCH_EVENTS_MAX,
    );
    return Math.max(TRANSFORM_BATCH_EVENTS, Math.floor(fitting));
  }
}

const HOST_CALL = /fetch|geolocation/i;
const known = new WeakMap<LiveProgram, boolean>();

function namesHostCall(program: LiveProgram): boolean {
  return known.getOrInsertComputed(program, ({ transformation, libraries }) =>
    [transformation, ...libraries].some(({ code }) => HOST_CALL.test(code)),
  );
}
