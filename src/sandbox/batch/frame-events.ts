import type { ProgramBatch } from "../program.ts";

/** Events of one frame to a guest; a larger batch goes in several frames. */
const GUEST_INPUT_EVENTS_MAX = 500;
/** Bytes of events of one frame to a guest, metadata included. */
export const GUEST_INPUT_BYTES_MAX = 4 << 20;

/** The first of the open events of a batch, as many as one frame holds and at least one. */
export function firstFrameOf(open: readonly number[], batch: ProgramBatch): readonly number[] {
  let bytes = 0;
  const end = open.findIndex((index, position) => {
    if (position === GUEST_INPUT_EVENTS_MAX) return true;
    bytes += batch.events[index]!.length + batch.metadata[index]!.length;
    return bytes > GUEST_INPUT_BYTES_MAX;
  });
  return end < 0 ? open : open.slice(0, Math.max(1, end));
}
