import { expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { type EventRecord, eventRecordCodec } from "../../../src/event/record.ts";
import { createSdkEndpoint, type SdkEndpointOptions } from "../../../src/ingest/sdk/endpoint.ts";
import { Batcher } from "../../../src/log/flush-batch.ts";
import { SDK_BATCH_EVENTS_MAX, SDK_BODY_BYTES_MAX } from "../../../src/settings/limits.ts";
import { basic } from "./_sdk.ts";

/**
 * Milliseconds of CPU for which a request may hold its process, the least of some turns: the machine
 * and the compiler only add to it. The largest bodies take 4 to 10; 100,000 events took 28 to 46.
 */
const TURN_MS_MAX = 20;
/** Number of turns at which the search for a short one ends. */
const TURNS_MAX = 64;

/** Returns the status of the answer to a body, 200 when its events are appended, and its CPU time. */
function turnOf(body: Buffer, isGzip: boolean): { status: number; ms: number } {
  const batcher = new Batcher(eventRecordCodec, 0);
  let status = 200;
  const endpoint = createSdkEndpoint({
    source: () => ({ id: "2nAbcDEF0123456789xyzXYZ012", workspaceId: "w", enabled: true }),
    log: { appendAll: (records: EventRecord[]) => batcher.add(records) },
    clients: { of: () => "203.0.113.7" },
    recordClientAddress: true,
    rate: { waitSeconds: () => 0, take: () => {} },
    refuse: (_: unknown, refused: number) => {
      status = refused;
    },
    respondWhenStored: () => {},
  } as unknown as SdkEndpointOptions);
  const headers: Record<string, string> = { authorization: basic("key") };
  if (isGzip) headers["content-encoding"] = "gzip";
  const exchange = { header: (name: string) => headers[name], body: () => body, path: "/v1/batch" };
  const before = process.cpuUsage();
  endpoint({ type: undefined, isBeacon: false }, exchange as never);
  const { user, system } = process.cpuUsage(before);
  return { status, ms: (user + system) / 1_000 };
}

/** Returns the least CPU time of turns that are all answered with `status`. */
function leastMs(body: Buffer, { isGzip, status }: { isGzip: boolean; status: number }): number {
  let least = Number.POSITIVE_INFINITY;
  for (let turns = 0; turns < TURNS_MAX && least >= TURN_MS_MAX; turns++) {
    const turn = turnOf(body, isGzip);
    expect(turn.status).toBe(status);
    least = Math.min(least, turn.ms);
  }
  return least;
}

/** A batch of this many events, which are as large as a body may be. */
function batchOf(events: number): Buffer {
  const eventBytes = Math.floor((SDK_BODY_BYTES_MAX - 20) / events) - 1;
  const event = (text: string) => JSON.stringify({ userId: "u", type: "track", event: "e", text });
  const own = event("x".repeat(Math.max(0, eventBytes - event("").length)));
  return Buffer.from(`{"batch":[${Array(events).fill(own).join(",")}]}`);
}

test.each([1, 20, 250, 5_000, SDK_BATCH_EVENTS_MAX])(
  "a body of %d events holds its process for a few milliseconds",
  (events) => {
    const body = batchOf(events);
    for (const isGzip of [false, true]) {
      const sent = isGzip ? gzipSync(body) : body;
      expect(leastMs(sent, { isGzip, status: 200 })).toBeLessThan(TURN_MS_MAX);
    }
  },
);

test("a body of more events than a batch may have is refused, and holds its process no longer", () => {
  const body = Buffer.from(`{"batch":[${"{},".repeat(1_700_000)}{}]}`);
  expect(leastMs(body, { isGzip: false, status: 413 })).toBeLessThan(TURN_MS_MAX);
});
