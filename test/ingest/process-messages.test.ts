import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StartError } from "../../src/errors.ts";
import type { IngestLog } from "../../src/ingest/log/ingest-log.ts";
import type { IngestMessage } from "../../src/ingest/messages.ts";
import { type OpenPartitions, runIngestProcess } from "../../src/ingest/process/main.ts";
import { until } from "../until.ts";

/** Messages of an ingest process to its server, up to the time at which it may listen. */

const EVENTS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "message", "disconnect"];
let directory: string;
let sent: IngestMessage[];
let before: Map<string, unknown[]>;
const own = ["connected", "send"].map((name) => {
  return [name, Object.getOwnPropertyDescriptor(process, name)] as const;
});

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "pixelmill-ingest-messages-"));
  sent = [];
  before = new Map(EVENTS.map((name) => [name, process.listeners(name as never)]));
  const send = (message: IngestMessage) => void sent.push(message);
  for (const [name, value] of Object.entries({ connected: true, send })) {
    Object.defineProperty(process, name, { value, configurable: true, writable: true });
  }
});
afterEach(() => {
  for (const [name, listeners] of before) {
    for (const listener of process.listeners(name as never) as never[]) {
      if (!listeners.includes(listener)) process.off(name, listener);
    }
  }
  for (const [name, descriptor] of own) {
    if (descriptor === undefined) Reflect.deleteProperty(process, name);
    else Object.defineProperty(process, name, descriptor);
  }
  rmSync(directory, { recursive: true, force: true });
});

const says = (message: object) => void process.emit("message" as never, message as never);
const log: IngestLog = {
  append: async () => {},
  appendAll: async () => {},
  health: () => ({ failing: 0, writable: 1, faults: [] }),
  close: async () => {},
};

/** Begins a process that opens its log by `open`; the promise is of its exit code. */
function begin(open: OpenPartitions) {
  const ended = runIngestProcess(open);
  const serve = {
    ...{ type: "serve", index: 7, log: { kind: "partitions", settings: { topic: "t" } } },
    ...{ catalogDirectory: join(directory, "catalog"), port: 1, trustedProxies: [] },
    ...{ recordClientAddress: false, eventsPerSecondMax: 0, connectionsPerNetworkMax: 0 },
    logLevel: "silent",
  };
  // The promise itself would be awaited.
  return { ended, serve: () => says(serve) };
}

test("an ingest process whose server is gone, or goes before it says anything, ends well", async () => {
  const { ended } = begin(async () => log);
  process.emit("disconnect" as never);
  expect(await ended).toBe(0);
  Object.defineProperty(process, "connected", { value: false, configurable: true });
  expect(await begin(async () => log).ended).toBe(0);
  expect(sent).toEqual([]);
});

test.each([
  ["an error of its start", new StartError("No broker answers")],
  ["a defect", new TypeError("No broker answers")],
])(
  "an ingest process that cannot open its log for %s says why, and ends with 1",
  async (_, error) => {
    const given: unknown[] = [];
    const { ended, serve } = begin((settings) => {
      given.push(settings);
      throw error;
    });
    serve();
    expect(await ended).toBe(1);
    expect(sent).toEqual([{ type: "failed", message: "No broker answers" }]);
    expect(given).toEqual([{ topic: "t" }]);
  },
);

test("an ingest process tells each change of its log's health once, and its metrics when it is asked", async () => {
  const well = { failing: 0, writable: 1, faults: [] };
  const unwell = { failing: 1, writable: 0, faults: ["Full"] };
  const { ended, serve } = begin(async (_, { onHealth }) => {
    for (const health of [well, well, unwell, unwell, well]) onHealth({ ...health });
    return { ...log, durable: () => 5 };
  });
  // Nothing is measured before the settings are known.
  says({ type: "metrics", id: 1 });
  serve();
  await until(() => sent.some(({ type }) => type === "opened"));
  expect(sent.splice(0)).toEqual([
    ...[well, unwell, well].map((health) => ({ type: "health" as const, health })),
    { type: "opened", durable: 5 },
  ]);
  says({
    type: "configure",
    logLevel: "silent",
    eventsPerSecondMax: 1,
    connectionsPerNetworkMax: 1,
  });
  says({ type: "metrics", id: 2 });
  const answer = await until(() => sent[0]);
  expect(answer).toMatchObject({ type: "metrics", id: 2 });
  expect(JSON.stringify(answer)).toContain('"process":"ingest-7"');
  // It has not been told to listen yet.
  says({ type: "close" });
  expect(await ended).toBe(0);
  expect(sent).toHaveLength(1);
});

test("a log without an end of its own is opened without naming one", async () => {
  const { ended, serve } = begin(async () => log);
  serve();
  await until(() => sent.length > 0);
  expect(sent).toEqual([{ type: "opened" }]);
  process.emit("disconnect" as never);
  expect(await ended).toBe(0);
});
