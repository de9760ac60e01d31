import type { ProgramBatch } from "../program.ts";

/** Maximum events in one frame to a guest. A larger batch is sent in several frames. */
const GUEST_INPUT_EVENTS_MAX = 500;
/** Maximum bytes of events and their metadata in one frame to a guest. */
export const GUEST_INPUT_BYTES_MAX = 4 << 20;

/**
 * Returns the indexes of the events for the next frame: the first ones of `open`, as many as one
 * frame holds and at least one.
 */
export function firstFrameOf(open: readonly number[], batch: ProgramBatch): readonly number[] {
  let bytes = 0;
  const end = open.findIndex((index, position) => {
    if (position === GUEST_INPUT_EVENTS_MAX) return true;
    bytes += batch.events[index]!.length + batch.metadata[index]!.length;
    return bytes > GUEST_INPUT_BYTES_MAX;
  });
  return end < 0 ? open : open.slice(0, Math.max(1, end));
}
