import type { EventMetadata, ProgramBatch, ProgramOutcome } from "../program.ts";
import { type FrameText, jsonArrayBytes } from "../protocol/guest-frames.ts";

/**
 * Maximum number of events in one frame (message) to a guest process. A larger batch is sent in
 * several frames.
 */
const GUEST_INPUT_EVENTS_MAX = 500;
/** Maximum size in bytes of events and their metadata in one frame to a guest process. */
export const GUEST_INPUT_BYTES_MAX = 4 << 20;

/**
 * Returns the indexes of the events for the next frame to the guest process: as many as fit one
 * frame, and at least one, from the start of `open`.
 */
export function firstFrameOf(open: readonly number[], batch: ProgramBatch): readonly number[] {
  let bytes = 0;
  const end = open.findIndex((index, position) => {
    if (position === GUEST_INPUT_EVENTS_MAX) return true;
    bytes += eventBytes(batch, index);
    return bytes > GUEST_INPUT_BYTES_MAX;
  });
  return end < 0 ? open : open.slice(0, Math.max(1, end));
}

/**
 * Returns the body of a request that runs the events `taken` of a batch. `sizes` has the number of
 * these events and the bytes of their JSON.
 */
export function bodyOf(taken: readonly number[], batch: ProgramBatch) {
  const ofTaken = <T>(all: readonly T[]): readonly T[] =>
    taken.length === all.length ? all : taken.map((index) => all[index]!);
  const events = ofTaken(batch.events);
  const body: FrameText[] = [events, ...metadataTexts(ofTaken(batch.metadata))];
  return { sizes: { count: taken.length, eventsBytes: jsonArrayBytes(events) }, body };
}

/** Returns the approximate number of bytes that a batch takes in frames to the guest process. */
export function batchBytes(batch: ProgramBatch): number {
  let bytes = 0;
  for (let index = 0; index < batch.events.length; index += 1) bytes += eventBytes(batch, index);
  return bytes;
}

/**
 * Returns the approximate number of bytes of an event and its metadata. Shared metadata is counted
 * in full for each event.
 */
function eventBytes({ events, metadata }: ProgramBatch, index: number): number {
  const { shared, own } = metadata[index]!;
  return events[index]!.length + shared.length + own.length;
}

/**
 * Bytes of memory that an output takes besides its JSON, or that an error takes besides its
 * message.
 */
const OUTPUT_BYTES = 200;

/** Returns the memory in bytes that an outcome takes. */
export function heldBytes(outcome: ProgramOutcome): number {
  if ("error" in outcome) return OUTPUT_BYTES + 2 * outcome.error.message.length;
  return outcome.events.reduce((sum, { length }) => sum + length + OUTPUT_BYTES, 0);
}

/**
 * Returns the metadata of events as the parts of one JSON text: `[[SHARED, …], [[NUMBER, OWN, …],
 * …]]`.
 * - `SHARED`: an object of shared metadata. A string is listed once; a byte array is listed once
 *   for each series of successive events that have it.
 * - `NUMBER`: index of the event's shared object
 * - `OWN`: the event's own values
 */
export function metadataTexts(events: readonly EventMetadata[]): FrameText[] {
  const objects: Uint8Array[] = [];
  const numbers = new Map<string, number>();
  let rows = "";
  let last: EventMetadata["shared"] | undefined;
  let number = 0;
  for (const { shared, own } of events) {
    // In most batches of the pipeline all events have the same text.
    if (shared !== last) {
      const known = typeof shared === "string" ? numbers.get(shared) : undefined;
      number = known ?? objects.length;
      if (known === undefined) {
        if (typeof shared === "string") numbers.set(shared, number);
        objects.push(typeof shared === "string" ? Buffer.from(shared) : shared);
      }
      last = shared;
    }
    rows += rows === "" ? `[${number}` : `,[${number}`;
    rows += own === "" ? "]" : `,${own}]`;
  }
  return ["[", objects, `,[${rows}]]`];
}
