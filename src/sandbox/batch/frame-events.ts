import type { ProgramBatch } from "../program.ts";

/**
 * Maximum number of events in one frame (message) to a guest process. A larger batch is sent in
 * several frames.
 */
const GUEST_INPUT_EVENTS_MAX = 500;
/** Maximum size in bytes of events and their metadata in one frame (message) to a guest process. */
export const GUEST_INPUT_BYTES_MAX = 4 << 20;

/**
 * Returns the indexes of the events for the next frame (message to the guest process): the first
 * ones of `open`, as many as one frame may contain and at least one.
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
