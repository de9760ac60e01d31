import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import type { Catalog } from "../../src/catalog/catalog.ts";
import type { Source } from "../../src/catalog/model.ts";
import { openCatalog } from "../../src/catalog/open.ts";
import { destinationKinds } from "../../src/destinations/destination-kinds.ts";
import { createEgress } from "../../src/egress/egress.ts";
import { eventOf } from "../../src/event/event.ts";
import {
  decodeRecord,
  type EventRecord,
  type EventType,
  eventRecordCodec,
  eventTypes,
  type JsonRecord,
} from "../../src/event/record.ts";
import type { LogReader, LogWriter } from "../../src/log/event-log.ts";
import { LossReport } from "../../src/log/loss-report.ts";
import { openLogReader } from "../../src/log/reader.ts";
import { openLogWriter } from "../../src/log/writer.ts";
import { createMetrics } from "../../src/observe/metrics.ts";
import { openLedger } from "../../src/pipeline/ledger/ledger.ts";
import { createPipeline, type Pipeline } from "../../src/pipeline/pipeline.ts";
import type { Publisher } from "../../src/publishing/create-publisher.ts";
import { createPublisher } from "../../src/publishing/create-publisher.ts";
import { createSandbox, type GuestSandbox } from "../../src/sandbox/guest-sandbox.ts";
import { pixelmillCommand } from "../e2e/command.ts";
import { holds } from "../until.ts";
import { numbersTo, Sink, until } from "./rig.ts";

/** The pipeline over the real catalog, event log, event builder and sandbox. */
const logger = pino({ level: "silent" });
let directory: string;
let catalog: Catalog;
let sandbox: GuestSandbox;
let publishing: Publisher;
let writer: LogWriter<EventRecord>;
let reader: LogReader;
let pipeline: Pipeline;
let workspaceId: string;
let source: Source;
let sink: Sink;
let heard = () => {};

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "real-parts-"));
  catalog = await openCatalog({ directory: join(directory, "catalog"), logger });
  const guestCommand = [...pixelmillCommand, "guest"];
  const limits = { spares: 0 };
  sandbox = createSandbox({ guestCommand, insecure: false, log: logger, limits });
  publishing = createPublisher({ catalog, sandbox });
  workspaceId = (await catalog.workspaces.create("Acme")).id;
  source = await catalog.sources.create(workspaceId, { name: "Site" });
  sink = new Sink();
  const log = join(directory, "events");
  writer = await openLogWriter({ directory: log, codec: eventRecordCodec, logger });
  reader = await openLogReader({ directory: log, losses: new LossReport({ logger }) });
  pipeline = start();
});

afterEach(async () => {
  await pipeline.close();
  await sandbox.close();
  await writer.close();
  await reader.close();
  await catalog.close();
  sink.close();
  rmSync(directory, { recursive: true });
});

function start(): Pipeline {
  return createPipeline({
    ...{ live: catalog.live, sandbox, eventOf, logger, decode: decodeRecord },
    readers: new Map([["0", reader]]),
    kinds: destinationKinds({
      directory: join(directory, "files"),
      egress: createEgress({ allow: ["127.0.0.0/8"] }),
    }),
    ledger: openLedger(join(directory, "delivery"), logger),
    onDurable(listener) {
      heard = listener;
      return () => {};
    },
    retryWindowMs: 3_600_000,
    metrics: createMetrics(),
  });
}

async function append(numbers: readonly number[], more = ""): Promise<void> {
  await Promise.all(
    numbers.map((n) =>
      writer.append({
        ...{ type: "track", receivedAt: Date.now(), sourceId: source.id, clientAddress: "" },
        messageId: crypto.getRandomValues(new Uint8Array(16)),
        query: `event=Seen&userId=user%20${n % 5}&anonymousId=a&properties.n=${n}${more}`,
      }),
    ),
  );
  reader.advance(writer.durable());
  heard();
}

async function connect(name: string) {
  const config = { webhookUrl: sink.url, batchSize: 10 };
  const input = { name, type: "webhook", config };
  const destination = await catalog.destinations.create(workspaceId, input);
  const pair = { sourceId: source.id, destinationId: destination.id };
  await catalog.connections.create(workspaceId, pair, await pipeline.logEnds());
  return destination;
}

const code = (version: string) => `
export function transformEvent(event, metadata) {
  const { n } = event.properties;
  if (n % 10 === 3) return null;
  if (n % 10 === 4) throw new Error("four");
  return { n, version: "${version}", user: event.userId, meta: metadata(event) };
}`;

test("pixels go from the log through published code to the destination", async () => {
  await append([1_000, 1_001]);
  const destination = await connect("Hook");
  const created = await publishing.create(workspaceId, "transformation", {
    ...{ name: "Shape", code: code("one"), language: "javascript", publish: true },
    events: [{ type: "track", properties: { n: 1 } }],
    destinationIds: [destination.id],
  });
  await append(numbersTo(300));
  await until(() => sink.taken.length >= 240);
  await until(() => pipeline.deadLetters.count(workspaceId) === 30);
  const expected = numbersTo(300).filter((n) => n % 10 !== 3 && n % 10 !== 4);
  expect(sink.numbers().sort((a, b) => a - b)).toEqual(expected);
  for (const user of numbersTo(5)) {
    const own = sink.taken.filter((event) => event.user === `user ${user}`).map(({ n }) => n);
    expect(own).toEqual(expected.filter((n) => n % 5 === user));
  }
  expect(sink.taken[0]!.meta).toMatchObject({
    ...{ sourceId: source.id, sourceName: "Site", workspaceId, eventName: "Seen" },
    ...{ destinationName: "Hook", destinationType: "webhook", eventType: "track" },
    transformationVersionId: created.revision.versionId,
  });
  const [letter] = pipeline.deadLetters.find(workspaceId, { count: 1 }).letters;
  expect(letter).toMatchObject({ stage: "transform", line: 5 });
  expect(letter!.reason).toStartWith("Error: four");
  expect(letter!.event).toMatchObject({ messageId: letter!.messageId, event: "Seen" });

  await publishing.update(workspaceId, "transformation", created.resource.id, {
    ...{ code: code("two"), publish: true, events: [{ type: "track", properties: { n: 1 } }] },
  });
  await append([500]);
  await until(() => sink.taken.length === 241);
  expect(sink.taken.at(-1)).toMatchObject({ n: 500, version: "two" });
}, 300_000);

test("events of SDKs go through code in the order of their user, and refused ones nowhere", async () => {
  const destination = await connect("Hook");
  await publishing.create(workspaceId, "transformation", {
    ...{ name: "Shape", language: "javascript", publish: true },
    code: `export function transformEvent(event, metadata) {
      const { messageId, eventType, eventName } = metadata(event);
      return { ...event, n: event.traits?.n ?? event.properties.n, meta: [messageId, eventType, eventName] };
    }`,
    events: [{ type: "track", properties: { n: 1 } }],
    destinationIds: [destination.id],
  });
  const record = (n: number, type: EventType, over: Partial<JsonRecord> = {}): JsonRecord => {
    const part = type === "track" || type === "page" ? "properties" : "traits";
    const sent = {
      messageId: `own "${n}"`,
      userId: "u",
      event: "Seen",
      writeKey: "k",
      [part]: { n },
    };
    return {
      ...{ format: "json", type, receivedAt: Date.now(), sourceId: source.id, sentAt: undefined },
      ...{ clientAddress: "203.0.113.7", messageId: undefined },
      json: Buffer.from(JSON.stringify(sent)),
      ...over,
    };
  };
  const excluded = '{"messageId":"x","userId":"u","integrations":{"Hook":false}}';
  const records = [
    ...eventTypes.map((type, n) => record(n, type)),
    record(6, "track", { refused: "no id" }),
    record(7, "track", { json: Buffer.from(excluded) }),
    record(8, "track"),
  ];
  await Promise.all(records.map((it) => writer.append(it)));
  reader.advance(writer.durable());
  heard();
  await until(() => sink.taken.length === 7);
  expect(sink.taken.map(({ n, type, meta }) => [n, type, meta])).toEqual(
    [...eventTypes, "track"].map((type, at) => {
      const n = at === 6 ? 8 : at;
      return [n, type, [`own "${n}"`, type, type === "track" ? "Seen" : null]];
    }) as never,
  );
  expect(sink.taken.some((event) => "writeKey" in event)).toBe(false);
  expect(pipeline.deadLetters.count(workspaceId)).toBe(0);
}, 300_000);

test("a destination that is disabled and enabled, over a restart, gets all its events", async () => {
  const destination = await connect("Hook");
  await append([0, 1]);
  await until(() => sink.taken.length === 2);
  const off = { enabled: false };
  await catalog.destinations.update(workspaceId, destination.id, off, await pipeline.logEnds());
  await append([2, 3]);
  await pipeline.close();
  pipeline = start();
  const on = { enabled: true };
  await catalog.destinations.update(workspaceId, destination.id, on, await pipeline.logEnds());
  await append([4, 5]);
  await until(() => sink.taken.length === 4);
  const numbers = sink.taken.map((event) => (event.properties as { n: number }).n);
  expect(numbers.sort()).toEqual([0, 1, 4, 5]);
  expect(pipeline.deadLetters.count(workspaceId)).toBe(0);

  await catalog.destinations.remove(workspaceId, destination.id);
  await append([6]);
  await holds(50, () => expect(sink.taken.length).toBe(4));
}, 300_000);

const shaping = `
export function transformEvent(event) {
  const { n } = event.properties;
  const header = { "X-N": n, Accept: "text/" };
  const appendPath = "users/" + encodeURIComponent(event.userId);
  return n === 1 ? { ...event, n } : { n, header, appendPath };
}`;

test("code sets the path and headers of a request, and a pixel cannot", async () => {
  const requests: unknown[] = [];
  sink.answer = ([event], request) => {
    const { pathname } = new URL(request.url);
    const { accept, "x-n": n, authorization } = Object.fromEntries(request.headers);
    requests.push([event!.n, pathname, accept, n, authorization]);
    return new Response("ok");
  };
  const destination = await connect("Hook");
  await publishing.create(workspaceId, "transformation", {
    ...{ name: "Shape", code: shaping, language: "javascript", publish: true },
    events: [{ type: "track", userId: "u", properties: { n: 1 } }],
    destinationIds: [destination.id],
  });
  await append([1, 2, 3], "&appendPath=admin&header.authorization=mine&header.X-N=no&other=kept");
  await until(() => sink.taken.length === 3);
  expect(requests.sort()).toEqual([
    [1, "/", undefined, undefined, undefined],
    [2, "/users/user%202", "text/", "2", undefined],
    [3, "/users/user%203", "text/", "3", undefined],
  ]);
  const [first, ...others] = sink.taken.toSorted((one, other) => one.n - other.n);
  expect(first).toMatchObject({ n: 1, other: "kept" });
  expect(first).not.toHaveProperty("appendPath");
  expect(others as unknown[]).toEqual([{ n: 2 }, { n: 3 }]);
}, 300_000);
