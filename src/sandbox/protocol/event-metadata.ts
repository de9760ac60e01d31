import type { EventMetadata } from "../program.ts";
import type { FrameText } from "./guest-frames.ts";

/**
 * Returns the parts of one JSON text with the metadata of events, `[[SHARED, …], [[NUMBER, OWN, …],
 * …]]`: each different object of shared metadata once, and for each event the index of its object
 * and the event's own values. Objects that are given as bytes stay bytes, and only neighbours among
 * them are compared.
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
