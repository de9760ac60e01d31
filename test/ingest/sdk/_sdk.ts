import type { JsonRecord } from "../../../src/event/record.ts";
import type { IngestListenerOptions } from "../../../src/ingest/listener.ts";
import { openListener, WRITE_KEY } from "../harness.ts";

/** The value of `Authorization` of SDKs that send this write key. */
export const basic = (key: string, password = "") =>
  `Basic ${Buffer.from(`${key}:${password}`).toString("base64")}`;

export interface StoredEvent {
  type: string;
  event: Record<string, unknown>;
  refused: string | undefined;
}

/** A listener whose log keeps the records of SDK events in memory. */
export function openSdkListener(parts: Partial<IngestListenerOptions> = {}) {
  const records: JsonRecord[] = [];
  const log = {
    async append(record: object): Promise<void> {
      // Pixels have a query instead of JSON.
      records.push({ ...(record as JsonRecord), json: Buffer.alloc(0) });
    },
    appendAll(all: readonly JsonRecord[]): Promise<void> {
      // The bytes are a view into the connection's buffer, as the log encodes a record at once.
      for (const record of all) records.push({ ...record, json: Buffer.from(record.json) });
      return durable;
    },
  };
  const durable = Promise.resolve();
  const server = openListener({ log: log as IngestListenerOptions["log"], ...parts });

  /** Sends a body with the write key as user name, or with other headers. */
  async function post(
    path: string,
    body: unknown,
    headers: Record<string, string> = { authorization: basic(WRITE_KEY) },
  ): Promise<{ status: number; body: unknown; headers: Headers }> {
    const isRaw = typeof body === "string" || body instanceof Uint8Array;
    const answer = await fetch(`${server.url}${path}`, {
      method: "POST",
      headers,
      body: isRaw ? (body as string) : JSON.stringify(body),
    });
    return { status: answer.status, body: await answer.json(), headers: answer.headers };
  }

  return {
    ...server,
    post,
    records,
    /** Returns the stored events since the last call. */
    taken: (): StoredEvent[] =>
      records.splice(0).map(({ type, json, refused }) => ({
        type,
        event: JSON.parse(Buffer.from(json).toString()),
        refused,
      })),
  };
}

export const track = (id: string, more: object = {}) => ({
  type: "track",
  event: "Bought",
  messageId: id,
  anonymousId: "a",
  context: { library: { name: "test" } },
  integrations: { All: true },
  ...more,
});
