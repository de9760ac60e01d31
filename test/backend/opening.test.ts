import { afterEach, describe, expect, jest, mock, spyOn, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Backend, PipelineConfig, StartContext } from "../../src/backend/backend.ts";
import { startAuditRetention } from "../../src/backend/open-catalog.ts";
import {
  openAlerts,
  openDataDirectory,
  openPipeline,
  openSandbox,
} from "../../src/backend/open-parts.ts";
import { syncOffsetBase } from "../../src/backend/partition-ledgers.ts";
import { openIngest } from "../../src/backend/reloadable/open-ingest.ts";
import { startApi } from "../../src/backend/reloadable/start-api.ts";
import { openStandalone } from "../../src/backend/standalone.ts";
import type { PartitionLogs } from "../../src/cluster/events/partition-logs.ts";
import { RECEIVED } from "../../src/figures/row.ts";
import { formatFile, isDataLocked } from "../../src/first-start/data-directory.ts";
import * as supervisor from "../../src/ingest/supervisor/supervisor.ts";
import { createMetrics } from "../../src/observe/metrics.ts";
import { StartSteps } from "../../src/observe/start-steps.ts";
import * as guestSandbox from "../../src/sandbox/guest-sandbox.ts";
import { selfCommand } from "../../src/self-command.ts";
import { LiveSettings } from "../../src/settings/live-settings.ts";
import { readSettings } from "../../src/settings/reader.ts";
import { removeDirectory, temporaryDirectory } from "../e2e/server.ts";
import { NameServer } from "../egress/name-server.ts";
import { listeningLogger } from "../log/support.ts";
import { decode, eventOf } from "../pipeline/doubles.ts";

const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  jest.useRealTimers();
  mock.restore();
  for (const end of ends.splice(0).reverse()) await end();
});

/** Makes the context that a server passes to its parts. A test may change `flags` before a reload. */
function starting(more: Record<string, string> = {}) {
  const data = temporaryDirectory();
  const flags: Record<string, string> = { data, ...more };
  const settings = new LiveSettings(() => readSettings(flags, {}));
  const { logger, lines } = listeningLogger();
  const stack = new AsyncDisposableStack();
  ends.push(
    () => removeDirectory(data),
    () => stack.disposeAsync(),
  );
  const context: StartContext = {
    ...{ config: settings.config, settings, logger, metrics: createMetrics(), stack },
    ...{ steps: new StartSteps(logger), requestStop() {} },
  };
  return { context, flags, lines, data };
}

describe("a standalone server", () => {
  test("has its storage in the data directory, and delivers all events itself", async () => {
    const { context, data } = starting({ "ingest-processes": "2" });
    const backend = await openStandalone(context);
    expect(backend.checks()).toEqual({ delivery: { ok: true } });
    expect(backend.warnings()).toEqual([]);
    expect(backend.catalogDirectory).toBe(join(data, "catalog"));
    expect([...backend.logs.readers.keys()]).toEqual(["0", "1"]);
    expect(backend.figures.share()).toBe(1);
    const figures = await backend.figures.open();
    expect(existsSync(join(data, "figures/figures.mdb"))).toBe(true);
    await figures.close();
    const pipeline = backend.startPipeline({
      ...{ sandbox: undefined as never, kinds: new Map(), decode, eventOf },
      retryWindowMs: 3_600_000,
    });
    expect(await pipeline.logEnds()).toEqual({ "0": 0, "1": 0 });
    await pipeline.close();
    await backend.leave();
  });

  test("does not start in the data directory of a cluster's node", async () => {
    const { context, data } = starting();
    mkdirSync(join(data, "cluster"));
    await expect(openStandalone(context)).rejects.toThrow("Expected the setting cluster.kafka");
    expect(existsSync(join(data, "catalog"))).toBe(false);
  });

  test("locks its data directory, until it stops, and measures the parts of it", async () => {
    const { context, data } = starting();
    const { disk } = await openDataDirectory(context);
    expect(readFileSync(formatFile(context.config), "utf8")).toBe("1\n");
    expect(isDataLocked(context.config)).toBe(true);
    for (const part of ["events", "delivery", "catalog", "files", "figures"]) {
      mkdirSync(join(data, part));
      writeFileSync(join(data, part, "a"), "a");
    }
    const used = disk.usedBytes();
    expect(Object.keys(used)).toEqual(["events", "delivery", "catalog", "files", "figures"]);
    expect(Object.values(used)).not.toContain(0);
    await context.stack.disposeAsync();
    expect(isDataLocked(context.config)).toBe(false);
  });

  test("reads new settings of the mail server at a reload", async () => {
    const { context, flags, lines } = starting();
    const { catalog } = await openStandalone(context);
    const alerts = openAlerts(context, { catalog }, () => "");
    expect(alerts.hasMailServer()).toBe(false);
    Object.assign(flags, { "smtp-server": "mail.example:25" });
    expect(() => context.settings.reload()).toThrow("Setting smtp.server needs smtp.from");
    expect(alerts.hasMailServer()).toBe(false);
    flags["smtp-from"] = "me@example.com";
    expect(context.settings.reload().changed).toEqual(["smtp.server", "smtp.from"]);
    expect(alerts.hasMailServer()).toBe(true);
    expect(lines).toEqual([]);
  });
});

test("the pipeline gets the bounds of the settings, and the hold of its deliveries", async () => {
  const { context } = starting({
    ...{ "retry-window": "7200", "metrics-tenants": "false" },
    ...{ "dead-letters-count": "5000", "dead-letters-age": "3600" },
    ...{ "events-retention-age": "10800", "events-retention-bytes": "4000000000" },
  });
  const given: PipelineConfig[] = [];
  let isClosed = false;
  const backend = {
    catalog: { live: {} },
    startPipeline(work: PipelineConfig) {
      given.push(work);
      return {
        async close() {
          isClosed = true;
        },
      };
    },
  } as unknown as Backend;
  const place = () => undefined;
  const { kinds } = openPipeline(context, {
    ...{ backend, sandbox: {} as never, received: {} as never },
    geolocation: { place, record: () => null },
    isOnHold: () => true,
  });
  const [work] = given;
  expect(work).toMatchObject({
    ...{ metricsOfTenants: false, retryWindowMs: 7_200_000 },
    retentionBounds: { ageMsMax: 10_800_000, bytesMax: 4_000_000_000 },
    deadLetterBounds: { countMax: 5_000, ageMsMax: 3_600_000 },
  });
  expect(work!.kinds).toBe(kinds);
  expect(kinds.has("webhook")).toBe(true);
  expect(work!.isOnHold!()).toBe(true);
  await context.stack.disposeAsync();
  expect(isClosed).toBe(true);
});

test("the control plane listens where the settings say, and takes new certificates", async () => {
  const { context } = starting({ "admin-host": "127.0.0.9", "admin-port": "4711" });
  const told: unknown[] = [];
  const api = {
    start: async (options: unknown) => {
      told.push(options);
      return "https://127.0.0.9:4711";
    },
    setTls: (keys: unknown) => void told.push(keys),
  };
  let change = (_: unknown) => {};
  const keys = { cert: "one", key: "one" };
  const control = {
    keys: () => keys,
    onChange(user: typeof change) {
      change = user;
    },
  };
  const sockets = { "control-plane": { fd: 7 } };
  const sources = { certificates: { control }, sockets } as never;
  expect(await startApi(api as never, context, sources)).toBe("https://127.0.0.9:4711");
  change({ cert: "two", key: "two" });
  expect(told).toEqual([
    { host: "127.0.0.9", port: 4711, socket: sockets["control-plane"], tls: keys },
    { cert: "two", key: "two" },
  ]);
});

test("ingest processes get the settings, and new limits and certificates while they run", async () => {
  const { context, flags } = starting({
    ...{
      "ingest-processes": "3",
      host: "127.0.0.9",
      port: "4712",
      "trusted-proxies": "10.0.0.0/8",
    },
    ...{ "request-ip": "false", "public-url": "https://pixels.example", "ingest-rate": "500" },
    ...{ "ingest-connections": "7", "log-level": "warn" },
  });
  const configured: unknown[] = [];
  let isStopped = false;
  const ingest = {
    configure: (changed: unknown) => void configured.push(changed),
    async stop() {
      isStopped = true;
    },
  } as never;
  const start = spyOn(supervisor, "startIngestProcesses").mockResolvedValue(ingest);
  let keys = "first";
  let change = () => {};
  const data = {
    keys: () => keys,
    onChange(user: typeof change) {
      change = user;
    },
  };
  const counted: unknown[] = [];
  const backend = { logs: "the logs", catalogDirectory: "/catalog" };
  const received = { add: (...of: unknown[]) => void counted.push(of) };
  const sockets = { "data-plane": { fd: 7, port: 4712 } };
  const sources = { backend, received, certificates: { data }, sockets } as never;
  expect(await openIngest(context, sources)).toBe(ingest);
  const limits = { eventsPerSecondMax: 500, connectionsPerNetworkMax: 7, logLevel: "warn" };
  const [options] = start.mock.calls[0]!;
  expect(options).toMatchObject({
    ...{ ...backend, ...limits, command: [...selfCommand, "ingest"], count: 3, tls: "first" },
    ...{ host: "127.0.0.9", port: 4712, socket: sockets["data-plane"] },
    ...{ trustedProxies: ["10.0.0.0/8"], recordClientAddress: false },
    publicUrl: "https://pixels.example",
  } as never);
  options.onReceived!("source", 4);
  expect(counted).toEqual([["source", expect.any(Number), RECEIVED, 4]]);
  keys = "second";
  change();
  const changes = { "ingest-rate": "9", "ingest-connections": "8", "log-level": "error" };
  Object.assign(flags, changes);
  const { changed } = context.settings.reload();
  expect(changed.toSorted()).toEqual(["ingest.connections", "ingest.rate", "log.level"]);
  expect(configured).toEqual([
    { ...limits, tls: "second" },
    { eventsPerSecondMax: 9, connectionsPerNetworkMax: 8, logLevel: "error", tls: "second" },
  ]);
  await context.stack.disposeAsync();
  expect(isStopped).toBe(true);
});

describe("the sandbox of a server", () => {
  /** Opens a sandbox that starts no guest, and returns the options that it got. */
  function open(flags: Record<string, string>) {
    const { context } = starting(flags);
    let isClosed = false;
    const sandbox = {
      async close() {
        isClosed = true;
      },
    } as never;
    const create = spyOn(guestSandbox, "createSandbox").mockReturnValue(sandbox);
    const record = () => null;
    expect(openSandbox(context, record)).toBe(sandbox);
    const [options] = create.mock.lastCall!;
    const fetch = (url: string) => {
      const request = { workspaceId: "w", url, method: "GET", headers: {}, body: "" };
      const bounds = { timeoutMs: 60_000, answerBytesMax: 100 };
      return options.fetch!({ ...request, ...bounds }, new AbortController().signal);
    };
    return { options, record, fetch, stack: context.stack, isClosed: () => isClosed };
  }

  test("is confined, and has its own share of the memory, unless the settings say otherwise", () => {
    const { options, record } = open({});
    expect(options).toMatchObject({ insecure: false, geolocation: record });
    expect(options.guestCommand).toEqual([...selfCommand, "guest"]);
    expect(options).not.toHaveProperty("limits");
    const { options: changed } = open({ "sandbox-memory": "1", "sandbox-insecure": "true" });
    expect(changed).toMatchObject({ insecure: true, limits: { memoryBytes: 1_048_576 } });
  });

  test("reaches no private address that the setting does not allow", async () => {
    const { fetch } = open({});
    await expect(fetch("http://127.0.0.1:1/")).rejects.toThrow("sandbox.fetch.allow");
  });

  test("asks the name servers of the settings, and closes its connections at the end", async () => {
    const names = new NameServer({ "site.test": { four: ["127.0.0.1"] } });
    const closed = Promise.withResolvers<void>();
    const site = Bun.listen({
      ...{ hostname: "127.0.0.1", port: 0 },
      socket: {
        data: (socket) => void socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
        close: () => closed.resolve(),
      },
    });
    ends.push(
      () => names.close(),
      () => site.stop(true),
    );
    const { fetch, stack, isClosed } = open({
      ...{ "egress-resolver": await names.listen(), "sandbox-fetch-allow": "127.0.0.0/8" },
    });
    const answer = await fetch(`http://site.test:${site.port}/`);
    expect(answer).toMatchObject({ status: 200, body: "ok" });
    await stack.disposeAsync();
    await closed.promise;
    expect(isClosed()).toBe(true);
  });
});

test("old entries of the audit log are deleted every hour, and a failure is logged", async () => {
  jest.useFakeTimers();
  const { logger, lines } = listeningLogger();
  let trims = 0;
  const trim = async () => {
    trims += 1;
    if (trims === 2) throw new Error("The disk is full");
    return 0;
  };
  const stop = startAuditRetention({ audit: { trim } } as never, logger);
  jest.advanceTimersByTime(3_599_999);
  expect(trims).toBe(0);
  jest.advanceTimersByTime(3_600_001);
  expect(trims).toBe(2);
  await Promise.resolve();
  await Promise.resolve();
  expect(lines.map(({ msg }) => msg)).toEqual(["old audit entries not deleted"]);
  stop();
  jest.advanceTimersByTime(7_200_000);
  expect(trims).toBe(2);
});

test("the offset base of a log is what its ledger has, also after another node changed it", () => {
  let stored: unknown;
  let change = (_: Set<string>) => {};
  const store = {
    table: (name: string) => ({ get: (key: string) => (key === "place" ? stored : name) }),
    listen(listener: typeof change) {
      change = listener;
      return () => {};
    },
  };
  const told: unknown[] = [];
  const logs = { setOffsetBase: (...of: unknown[]) => void told.push(of) };
  syncOffsetBase(store as never, logs as unknown as PartitionLogs, "k3");
  expect(told).toEqual([]);
  stored = { topic: "t", base: 5 };
  change(new Set(["lanes"]));
  expect(told).toEqual([]);
  change(new Set(["lanes", "places"]));
  expect(told).toEqual([["k3", stored]]);
  syncOffsetBase(store as never, logs as unknown as PartitionLogs, "k4");
  expect(told.at(-1)).toEqual(["k4", stored]);
});
