import type { EventMetadata } from "../program.ts";

/**
 * Returns the metadata of events as one JSON text, `[[SHARED, …], [[NUMBER, OWN, …], …]]`: each
 * different object of shared metadata once, and for each event the index of its object and the
 * event's own values.
 */
export function metadataJson(events: readonly EventMetadata[]): string {
  const numbers = new Map<string, number>();
  let rows = "";
  let last: string | undefined;
  let number = 0;
  for (const { shared, own } of events) {
    // In most batches all events have the same text.
    if (shared !== last) {
      number = numbers.get(shared) ?? numbers.size;
      numbers.set(shared, number);
      last = shared;
    }
    rows += rows === "" ? `[${number}` : `,[${number}`;
    rows += own === "" ? "]" : `,${own}]`;
  }
  return `[[${[...numbers.keys()].join(",")}],[${rows}]]`;
}
