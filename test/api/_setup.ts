import { expect } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { createApi } from "../../src/api/api.ts";
import { type Client, createClient } from "../../src/api/client.ts";
import type { ApiDeps, Readiness } from "../../src/api/deps.ts";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { type Permission, permissions } from "../../src/catalog/model.ts";
import { openCatalog } from "../../src/catalog/open.ts";
import { destinationKinds } from "../../src/destinations/destination-kinds.ts";
import { createEgress } from "../../src/egress/egress.ts";
import { eventOf } from "../../src/event/event.ts";
import { decodeRecord, pixelRecordCodec } from "../../src/event/record.ts";
import { systemFigures } from "../../src/health.ts";
import { openLogReader } from "../../src/log/reader.ts";
import { openLogWriter } from "../../src/log/writer.ts";
import type { Logger } from "../../src/observe/log.ts";
import { createMetrics } from "../../src/observe/metrics.ts";
import { openLedger } from "../../src/pipeline/ledger/ledger.ts";
import type { TailMessage } from "../../src/pipeline/live-tail.ts";
import { createPipeline } from "../../src/pipeline/pipeline.ts";
import { createPublisher } from "../../src/publishing/create-publisher.ts";
import { createSandbox } from "../../src/sandbox/guest-sandbox.ts";
import type { OrderedLog } from "../../src/store/ordered/ordered-log.ts";
import { faultsOf } from "./_contract.ts";

/** A control plane on a socket, over a real catalog, with an admin of a workspace of its own. */
export interface TestApi {
  url: string;
  catalog: Catalog;
  workspaceId: string;
  token: string;
  client: Client;
  /** Routes of the server's router. */
  routes: { method: string; path: string }[];
  readiness: Readiness;
  /** Everything that was logged. */
  log(): string;
  /** Lines that were logged as errors. */
  failures(): string[];
  /** Tells every live tail of a workspace. */
  tell(workspaceId: string, message: TailMessage): void;
  followers(): number;
  tokenWith(permissions: Permission[], workspaceId?: string): Promise<string>;
  send(method: string, path: string, sent?: Sent): Promise<Received>;
  /** Puts a page event into the log, as the pixel listener does. */
  page(sourceId: string, query: string): Promise<void>;
  stop(): Promise<void>;
}

export interface Sent {
  /** JSON, unless it is text or bytes already. */
  body?: unknown;
  headers?: Record<string, string>;
  /** Null sends none. */
  token?: string | null;
  /** The answer may be another than documented. */
  unchecked?: boolean;
}

export interface Received {
  status: number;
  headers: Headers;
  text: string;
  body: any;
}

/** With `order` as one of several nodes that share a catalog. */
export async function startApi(more: Partial<ApiDeps> = {}, order?: OrderedLog): Promise<TestApi> {
  const directory = await mkdtemp(join(tmpdir(), "pixelmill-api-"));
  const log: string[] = [];
  const logger = pino({ level: "trace" }, { write: (line: string) => void log.push(line) });
  const parts = await openParts(directory, logger, order);
  const { catalog, metrics } = parts;
  const workspace = await catalog.workspaces.create("Acme");
  const tails = new Set<{ workspaceId: string; receive: (message: TailMessage) => void }>();
  const readiness: Readiness = { ready: true, checks: { log: { ok: true } }, warnings: [] };

  const api = createApi({
    catalog,
    publishing: parts.publishing,
    pipeline: {
      current: parts.pipeline.current,
      logEnds: parts.pipeline.logEnds,
      deadLetters: parts.pipeline.deadLetters,
      replays: parts.pipeline.replays,
      status: parts.pipeline.status,
      minuteCounts: parts.pipeline.minuteCounts,
      search: parts.pipeline.search,
      // Told by the test: when a message comes is what these tests are about.
      liveTail: {
        subscribe(workspaceId, receive) {
          const tail = { workspaceId, receive };
          tails.add(tail);
          return () => tails.delete(tail);
        },
      },
    },
    kinds: parts.kinds,
    suspensions: () => [],
    requestsPerSecondMax: 0,
    ready: () => readiness,
    starting: () => undefined,
    metricsText: () => metrics.metrics(),
    system: () =>
      systemFigures({
        ingest: { metrics: async () => [] },
        sandbox: parts.sandbox,
        pipeline: parts.pipeline,
        disk: { usedBytes: () => ({}), freeBytes: () => 0 },
        retention: { ageMsMax: 0, bytesMax: 0 },
      }),
    dataPlaneUrl: () => "http://127.0.0.1:8080",
    clientOf: (peer) => peer,
    hosts: [],
    version: "0.0.0",
    python: "pythonfaas",
    headers: "masked",
    logger,
    metrics,
    ...more,
  });
  const url = await api.start({ host: "127.0.0.1", port: 0 });

  async function tokenWith(granted: Permission[], workspaceId = workspace.id): Promise<string> {
    const input = { name: "test", permissions: granted };
    return (await catalog.tokens.create(workspaceId, input)).secret;
  }
  const token = await tokenWith([...permissions]);

  return {
    url,
    catalog,
    workspaceId: workspace.id,
    token,
    client: createClient({ baseUrl: url, token, fetch: checkedFetch }),
    routes: api.app.routes.map(({ method, path }) => ({ method, path })),
    readiness,
    log: () => log.join(""),
    failures: () => log.filter((line) => JSON.parse(line).level >= pino.levels.values.error!),
    tell(workspaceId, message) {
      for (const tail of tails) if (tail.workspaceId === workspaceId) tail.receive(message);
    },
    followers: () => tails.size,
    tokenWith,
    async send(method, path, sent = {}) {
      const bearer = sent.token === undefined ? token : sent.token;
      const response = await fetch(url + path, {
        method,
        redirect: "manual",
        headers: {
          ...(bearer !== null && { Authorization: `Bearer ${bearer}` }),
          ...(sent.body !== undefined && { "Content-Type": "application/json" }),
          ...sent.headers,
        },
        ...(sent.body !== undefined && { body: encoded(sent.body) }),
      });
      const text = await response.text();
      if (!sent.unchecked) expectContract(method, path, response, text);
      return { status: response.status, headers: response.headers, text, body: parsed(text) };
    },
    page: parts.page,
    async stop() {
      await api.stop();
      await parts.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Every answer of every test is what its route documents. */
function expectContract(method: string, path: string, response: Response, text: string): void {
  const { status, headers } = response;
  expect([method, path, faultsOf({ method, path, status, headers, text })]).toEqual([
    method,
    path,
    [],
  ]);
}

/** `fetch` for the typed client, which looks at what passes; streams are let through. */
const checkedFetch = (async (url: string, init: RequestInit = {}) => {
  const response = await fetch(url, init);
  if (response.headers.get("content-type") === "text/event-stream") return response;
  const { pathname, search } = new URL(url);
  const text = await response.clone().text();
  expectContract(init.method ?? "GET", pathname + search, response, text);
  return response;
}) as typeof fetch;

function encoded(body: unknown): string | Uint8Array<ArrayBuffer> {
  if (body instanceof Uint8Array) return new Uint8Array(body);
  return typeof body === "string" ? body : JSON.stringify(body);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The parts below the API, all real; the sandbox starts its guests from the entry file. */
async function openParts(directory: string, logger: Logger, order?: OrderedLog) {
  const metrics = createMetrics();
  const catalog = await openCatalog({
    ...{ directory: join(directory, "catalog"), logger },
    ...(order && { order }),
  });
  const sandbox = createSandbox({
    guestCommand: [process.execPath, join(import.meta.dir, "../../src/main.ts"), "guest"],
    insecure: false,
    log: logger,
  });
  const kinds = destinationKinds({
    directory: join(directory, "files"),
    egress: createEgress({ allow: ["127.0.0.0/8"] }),
  });
  const events = join(directory, "events");
  const log = await openLogWriter({ directory: events, codec: pixelRecordCodec, logger });
  const reader = await openLogReader({ directory: events, logger });
  const { promise: woken, resolve } = Promise.withResolvers<() => void>();
  const pipeline = createPipeline({
    live: catalog.live,
    sandbox,
    readers: new Map([["0", reader]]),
    onDurable(listener) {
      resolve(listener);
      return () => {};
    },
    decode: decodeRecord,
    eventOf,
    kinds,
    ledger: openLedger(join(directory, "delivery"), logger),
    retryWindowMs: 60_000,
    logger,
    metrics,
  });
  return {
    metrics,
    catalog,
    kinds,
    sandbox,
    pipeline,
    publishing: createPublisher({ catalog, sandbox }),
    async page(sourceId: string, query: string) {
      const messageId = crypto.getRandomValues(new Uint8Array(16));
      const at = { receivedAt: Date.now(), sourceId, clientAddress: "", messageId };
      await log.append({ type: "page", ...at, query });
      reader.advance(log.durable());
      (await woken)();
    },
    async close() {
      await pipeline.close();
      await log.close();
      await reader.close();
      await sandbox.close();
      await catalog.close();
    },
  };
}
