import type { EventMetadata } from "../program.ts";
import type { FrameText } from "./guest-frames.ts";

/**
 * Returns the metadata of events as the parts of one JSON text: `[[SHARED, …], [[NUMBER, OWN, …],
 * …]]`. The first list contains each different object of shared metadata once. The second contains
 * a row for each event: the index of its shared object, and its own values. Shared objects that are
 * given as bytes are not converted to strings, and are recognized as equal only if they are the
 * same object in consecutive events.
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
