import { expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { type EventRecord, eventRecordCodec } from "../../../src/event/record.ts";
import { createSdkEndpoint, type SdkEndpointOptions } from "../../../src/ingest/sdk/endpoint.ts";
import { Batcher } from "../../../src/log/flush-batch.ts";
import { SDK_BATCH_EVENTS_MAX, SDK_BODY_BYTES_MAX } from "../../../src/settings/limits.ts";
import { basic } from "./_sdk.ts";

/**
 * CPU time for which a request may hold its process, in times of `JSON.parse` of a body of 5,000
 * events. The largest bodies take 3 to 8; 100,000 events took 17 to 40. Of both, the least time of
 * some turns counts: the machine and the compiler only add to it.
 */
const PARSES_MAX = 12;
/** Number of turns at which the search for a short one ends. */
const TURNS_MAX = 64;

/**
 * Returns the status of the answer to a body, 200 when its events are appended, and its CPU time.
 */
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
  const ms = cpuMsOf(() => endpoint({ type: undefined, isBeacon: false }, exchange as never));
  return { status, ms };
}

function cpuMsOf(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** Returns the CPU time of a turn in parses (see `PARSES_MAX`). All turns are answered `status`. */
function parsesOf(body: Buffer, { isGzip, status }: { isGzip: boolean; status: number }): number {
  const parsed = batchOf(5_000).toString();
  let [turnMs, parseMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let turns = 0; turns < TURNS_MAX && !(turnMs < PARSES_MAX * parseMs); turns++) {
    parseMs = Math.min(
      parseMs,
      cpuMsOf(() => JSON.parse(parsed)),
    );
    const turn = turnOf(body, isGzip);
    expect(turn.status).toBe(status);
    turnMs = Math.min(turnMs, turn.ms);
  }
  return turnMs / parseMs;
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
      expect(parsesOf(sent, { isGzip, status: 200 })).toBeLessThan(PARSES_MAX);
    }
  },
);

test("a body of more events than a batch may have is refused, and holds its process no longer", () => {
  const body = Buffer.from(`{"batch":[${"{},".repeat(1_700_000)}{}]}`);
  expect(parsesOf(body, { isGzip: false, status: 413 })).toBeLessThan(PARSES_MAX);
});
