import { promisify } from "node:util";
import { gzip, gzipSync } from "node:zlib";
import { BRACKET_CLOSE, BRACKET_OPEN, COMMA } from "../../json/bytes.ts";
import type { BodyBuffers } from "./body-buffers.ts";
import type { WebhookConfig } from "./config.ts";
import { WEBHOOK_BODY_BYTES_MAX } from "./limits.ts";
import { bodyTooLong, parseTemplate, render, type Template } from "./template.ts";

/**
 * Largest body, in bytes, that is compressed synchronously. A larger body is compressed on another
 * thread.
 */
const GZIP_SYNC_BYTES_MAX = 64 << 10;
/** Options of gzip. The fastest level is used, because each body is sent only once. */
const options = { level: 1 };
/**
 * Options of gzip for bodies that are compressed on another thread. With the default chunk size of
 * 16 KiB, handing over the output would take up to a quarter of the whole time.
 */
const longOptions = { ...options, chunkSize: 64 << 10 };
const compress = promisify(gzip);

/** Compresses a body with gzip. */
export function compressBody(body: Uint8Array): Uint8Array | Promise<Uint8Array> {
  return body.length > GZIP_SYNC_BYTES_MAX ? compress(body, longOptions) : gzipSync(body, options);
}

/** Whether the body of a request is a list of events. If true, even one event is sent as a list. */
export function sendsList({ batchSize = 1, batchTemplate }: WebhookConfig): boolean {
  return batchSize > 1 || batchTemplate !== undefined;
}

/** Builds request bodies from the JSON texts of events. */
export type BodyBuilder = ReturnType<typeof bodyBuilder>;

/** Returns the body builder for a config. */
export function bodyBuilder(config: WebhookConfig) {
  const join = sendsList(config) ? jsonArray : ([event]: readonly Uint8Array[]) => event!;
  const eventTemplate = templateOf(config.template, "event");
  const listTemplate = templateOf(config.batchTemplate, "events");
  return {
    /**
     * Returns the JSON array of the events if `sendsList` returns true, otherwise the only event
     * itself. The events are given as JSON texts. The array is written to a buffer from `buffers`,
     * if given.
     */
    join,
    /**
     * Returns the body that the config's templates produce from the events. Without a template, the
     * body is `joined`, the result of `join`.
     */
    render(events: readonly Uint8Array[], joined: Uint8Array) {
      const body = eventTemplate === undefined ? joined : join(renderEach(eventTemplate, events));
      return listTemplate === undefined
        ? body
        : boundedBytes(render(listTemplate, Buffer.from(body).toString()));
    },
  };
}

function templateOf(text: string | undefined, root: string): Template | undefined {
  return text === undefined ? undefined : parseTemplate(text, root);
}

function renderEach(template: Template, events: readonly Uint8Array[]): Uint8Array[] {
  let left = WEBHOOK_BODY_BYTES_MAX;
  return events.map((event) => {
    const bytes = boundedBytes(render(template, Buffer.from(event).toString()));
    left -= bytes.length;
    if (left < 0) throw bodyTooLong();
    return bytes;
  });
}

function boundedBytes(text: string): Uint8Array {
  const bytes = Buffer.from(text);
  if (bytes.length > WEBHOOK_BODY_BYTES_MAX) throw bodyTooLong();
  return bytes;
}

function jsonArray(events: readonly Uint8Array[], buffers?: BodyBuffers): Uint8Array {
  // A bracket or comma before each event, and a bracket at the end.
  let length = 1;
  for (const event of events) length += 1 + event.length;
  const list = buffers === undefined ? Buffer.allocUnsafe(length) : buffers.take(length);
  let at = 0;
  for (const event of events) {
    list[at] = at === 0 ? BRACKET_OPEN : COMMA;
    list.set(event, at + 1);
    at += 1 + event.length;
  }
  list[at] = BRACKET_CLOSE;
  return list;
}
