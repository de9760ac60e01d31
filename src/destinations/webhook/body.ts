import { promisify } from "node:util";
import { gzip, gzipSync } from "node:zlib";
import type { WebhookConfig } from "./config.ts";
import { WEBHOOK_BODY_BYTES_MAX } from "./limits.ts";
import { bodyTooLong, parseTemplate, render, type Template } from "./template.ts";

/** Compressed in the time of a small request; a larger body is compressed on another thread. */
const GZIP_SYNC_BYTES_MAX = 64 << 10;
/** The fastest level: a body is compressed once for one request. */
const options = { level: 1 };
const compress = promisify(gzip);

export function compressBody(body: Uint8Array): Uint8Array | Promise<Uint8Array> {
  return body.length > GZIP_SYNC_BYTES_MAX ? compress(body, options) : gzipSync(body, options);
}

/** Whether a body is made of several events, or in the form for several. */
export function sendsList({ batchSize = 1, batchTemplate }: WebhookConfig): boolean {
  return batchSize > 1 || batchTemplate !== undefined;
}

/** Makes bodies of the JSON texts of events, of one at a time unless they are a list. */
export interface BodyBuilder {
  /** The text of one event, or of the list. */
  join(events: readonly Uint8Array[]): Uint8Array;
  /** What the templates make of the events, which are `joined` without a template. */
  render(events: readonly Uint8Array[], joined: Uint8Array): Uint8Array;
}

export function bodyBuilder(config: WebhookConfig): BodyBuilder {
  const join = sendsList(config) ? jsonArray : ([event]: readonly Uint8Array[]) => event!;
  const one = templateOf(config.template, "event");
  const around = templateOf(config.batchTemplate, "events");
  return {
    join,
    render(events, plain) {
      const body = one === undefined ? plain : join(rendered(one, events));
      return around === undefined ? body : bounded(render(around, Buffer.from(body).toString()));
    },
  };
}

function templateOf(text: string | undefined, root: string): Template | undefined {
  return text === undefined ? undefined : parseTemplate(text, root);
}

function rendered(template: Template, events: readonly Uint8Array[]): Uint8Array[] {
  let left = WEBHOOK_BODY_BYTES_MAX;
  return events.map((event) => {
    const bytes = bounded(render(template, Buffer.from(event).toString()));
    left -= bytes.length;
    if (left < 0) throw bodyTooLong();
    return bytes;
  });
}

function bounded(text: string): Uint8Array {
  const bytes = Buffer.from(text);
  if (bytes.length > WEBHOOK_BODY_BYTES_MAX) throw bodyTooLong();
  return bytes;
}

const open = Buffer.from("[");
const comma = Buffer.from(",");
const close = Buffer.from("]");

function jsonArray(events: readonly Uint8Array[]): Uint8Array {
  const parts: Uint8Array[] = [open];
  for (const [index, event] of events.entries()) {
    if (index > 0) parts.push(comma);
    parts.push(event);
  }
  return Buffer.concat([...parts, close]);
}
