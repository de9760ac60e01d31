import type { ProgramOutcome } from "../../sandbox/program.ts";
import type { RequestItem } from "./request-items.ts";

/**
 * Result of one item of a request: the outcome of its event, or the problem because of which its
 * code was not run.
 */
export type ItemResult = ProgramOutcome | { problem: string; status: 400 | 404 };

/**
 * Status of an item for an event that the code dropped. Only a rudder-server that asks for them in
 * a header gets such items.
 */
const DROPPED_STATUS = 298;
const FAILED_STATUS = 400;

/**
 * Writes the answer to a request. The answer has an item for each output event, for each failed
 * event, and, if `namesDropped` is true, for each event that the code dropped. Each item repeats
 * the metadata of its input event byte for byte, because rudder-server finds its job by the
 * metadata.
 */
export function answerOf(
  body: Buffer,
  items: readonly RequestItem[],
  results: readonly ItemResult[],
  namesDropped: boolean,
): Buffer {
  const writer = new Writer(usualBytes(items, results));
  for (let index = 0; index < items.length; index += 1) {
    const { metadata } = items[index]!;
    const own = metadata ? body.subarray(metadata.start, metadata.end) : noMetadata;
    const result = results[index]!;
    if ("problem" in result) writeFailure(writer, result.problem, own, result.status);
    else if ("error" in result) writeFailure(writer, result.error.message, own, FAILED_STATUS);
    else if (result.events.length > 0) {
      for (const event of result.events) writeOutput(writer, event, own);
    } else if (namesDropped) writeDropped(writer, own);
  }
  return writer.finish();
}

/**
 * Returns the size in bytes of an answer in which no event has failed or was dropped. With a buffer
 * of this size, the usual answer is written without copies.
 */
function usualBytes(items: readonly RequestItem[], results: readonly ItemResult[]): number {
  let bytes = arrayEnd.length;
  for (let index = 0; index < items.length; index += 1) {
    const result = results[index]!;
    const { metadata } = items[index]!;
    const ownBytes = ITEM_BYTES + (metadata ? metadata.end - metadata.start : noMetadata.length);
    if (!("events" in result)) bytes += ownBytes;
    else for (const event of result.events) bytes += ownBytes + event.length;
  }
  return bytes;
}

const noMetadata = Buffer.from("{}");
const outputStart = Buffer.from('{"output":');
const metadataStart = Buffer.from(',"metadata":');
const okEnd = Buffer.from(',"statusCode":200}');
/** Size in bytes of an item with an output event, without the event and the metadata. */
const ITEM_BYTES = 1 + outputStart.length + metadataStart.length + okEnd.length;

function writeOutput(writer: Writer, event: Uint8Array, metadata: Uint8Array): void {
  writer.beginItem();
  writer.write(outputStart);
  writer.write(event);
  writer.write(metadataStart);
  writer.write(metadata);
  writer.write(okEnd);
}

function writeFailure(writer: Writer, error: string, metadata: Uint8Array, status: number): void {
  writer.beginItem();
  const head = `{"statusCode":${status},"error":${JSON.stringify(error.toWellFormed())}`;
  writer.write(Buffer.from(`${head},"metadata":`));
  writer.write(metadata);
  writer.write(objectEnd);
}

const droppedStart = Buffer.from(`{"statusCode":${DROPPED_STATUS},"metadata":`);
const objectEnd = Buffer.from("}");
const noMessageIds = Buffer.from('"messageIds":null}}');

/**
 * Writes the item of a dropped event. Its metadata gets the member `"messageIds": null` at the end,
 * which overrides an earlier member of this name.
 */
function writeDropped(writer: Writer, metadata: Buffer): void {
  writer.beginItem();
  writer.write(droppedStart);
  const withoutEnd = metadata.subarray(0, -1);
  writer.write(withoutEnd);
  const isEmpty = withoutEnd.toString("latin1").trim() === "{";
  if (!isEmpty) writer.write(comma);
  writer.write(noMessageIds);
}

const comma = Buffer.from(",");

/** Writes the items of a JSON array, part by part, into one buffer. */
class Writer {
  #bytes: Buffer;
  #length = 0;
  #items = 0;

  constructor(usualBytes: number) {
    this.#bytes = Buffer.allocUnsafeSlow(usualBytes);
  }

  beginItem(): void {
    this.write(this.#items++ === 0 ? arrayStart : comma);
  }

  write(part: Uint8Array): void {
    const end = this.#length + part.length;
    if (end > this.#bytes.length) {
      const grown = Buffer.allocUnsafe(2 * end);
      grown.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = grown;
    }
    this.#bytes.set(part, this.#length);
    this.#length = end;
  }

  finish(): Buffer {
    this.write(this.#items === 0 ? emptyArray : arrayEnd);
    return this.#bytes.subarray(0, this.#length);
  }
}

const arrayStart = Buffer.from("[");
const arrayEnd = Buffer.from("]");
const emptyArray = Buffer.from("[]");
