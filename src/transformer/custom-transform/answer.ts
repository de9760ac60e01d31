import type { ProgramOutcome } from "../../sandbox/program.ts";
import type { RequestItem } from "./request-items.ts";

/**
 * Result of one item of a request: the outcome of its event or, if no code was run on it, the
 * reason for this.
 */
export type ItemResult = ProgramOutcome | { problem: string; status: 400 | 404 };

/**
 * Status code of the answer's item for an event that the code dropped. The answer has such items
 * only if a header of rudder-server's request asks for them.
 */
const DROPPED_STATUS = 298;
const FAILED_STATUS = 400;

/**
 * Returns the answer to a request: one item for each output event, each failed event and, with
 * `namesDropped`, each dropped event. An item repeats its event's metadata byte for byte, because
 * rudder-server finds the job by it.
 */
export function answerOf(
  body: Buffer,
  items: readonly RequestItem[],
  results: readonly ItemResult[],
  namesDropped: boolean,
): Buffer {
  const parts: Uint8Array[] = [];
  for (let index = 0; index < items.length; index += 1) {
    const { metadata } = items[index]!;
    const own = metadata ? body.subarray(metadata.start, metadata.end) : noMetadata;
    const result = results[index]!;
    if ("problem" in result) parts.push(...failure(result.problem, own, result.status));
    else if ("error" in result) parts.push(...failure(result.error.message, own, FAILED_STATUS));
    else if (result.events.length > 0) {
      for (const event of result.events) {
        parts.push(comma, outputStart, event, metadataStart, own, okEnd);
      }
    } else if (namesDropped) parts.push(...dropped(own));
  }
  // Each item begins with a comma. The bracket of the array replaces the first of these commas.
  parts[0] = arrayStart;
  parts.push(arrayEnd);
  return Buffer.concat(parts);
}

const noMetadata = Buffer.from("{}");
const outputStart = Buffer.from('{"output":');
const metadataStart = Buffer.from(',"metadata":');
const okEnd = Buffer.from(',"statusCode":200}');
const arrayStart = Buffer.from("[");
const arrayEnd = Buffer.from("]");
const comma = Buffer.from(",");
const objectEnd = Buffer.from("}");
const droppedStart = Buffer.from(`{"statusCode":${DROPPED_STATUS},"metadata":`);
const noMessageIds = Buffer.from('"messageIds":null}}');

function failure(error: string, metadata: Uint8Array, status: number): Uint8Array[] {
  const head = `{"statusCode":${status},"error":${JSON.stringify(error.toWellFormed())}`;
  return [comma, Buffer.from(`${head},"metadata":`), metadata, objectEnd];
}

/**
 * Returns the item of a dropped event. The item's metadata is the event's metadata with
 * `"messageIds": null` added at the end, which overrides an earlier member of this name.
 */
function dropped(metadata: Buffer): Uint8Array[] {
  const withoutEnd = metadata.subarray(0, -1);
  const isEmpty = withoutEnd.toString("latin1").trim() === "{";
  return [comma, droppedStart, withoutEnd, ...(isEmpty ? [] : [comma]), noMessageIds];
}
