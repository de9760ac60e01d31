import { expect } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { createAlerting } from "../../src/alerts/alerting.ts";
import type { MailServer } from "../../src/alerts/receivers/email.ts";
import { createSender } from "../../src/alerts/receivers/send.ts";
import { createApi } from "../../src/api/api.ts";
import { type Client, createClient } from "../../src/api/client.ts";
import type { ApiDeps, Readiness } from "../../src/api/deps.ts";
import { OpenIdProvider } from "../../src/api/sign-in/openid-provider.ts";
import type { SignOn } from "../../src/api/sign-in/sign-on.ts";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { type Permission, permissions } from "../../src/catalog/model.ts";
import { openCatalog } from "../../src/catalog/open.ts";
import { destinationKinds } from "../../src/destinations/destination-kinds.ts";
import { readDefinitions } from "../../src/destinations/rudder-server/read-definitions.ts";
import { createEgress } from "../../src/egress/egress.ts";
import { eventOf } from "../../src/event/event.ts";
import { decodeRecord, type EventRecord, eventRecordCodec } from "../../src/event/record.ts";
import { FigureRecorder } from "../../src/figures/figure-recorder.ts";
import { FigureTables } from "../../src/figures/figure-tables.ts";
import { systemFigures } from "../../src/health.ts";
import { LossReport } from "../../src/log/loss-report.ts";
import { openLogReader } from "../../src/log/reader.ts";
import { openLogWriter } from "../../src/log/writer.ts";
import type { Logger } from "../../src/observe/log.ts";
import { createMetrics } from "../../src/observe/metrics.ts";
import { openLedger } from "../../src/pipeline/ledger/ledger.ts";
import type { TailMessage } from "../../src/pipeline/live-tail.ts";
import { createPipeline, type Pipeline } from "../../src/pipeline/pipeline.ts";
import { createPublisher } from "../../src/publishing/create-publisher.ts";
import { createSandbox, type GuestSandbox } from "../../src/sandbox/guest-sandbox.ts";
import type { SandboxLimits } from "../../src/sandbox/limits.ts";
import { openStore } from "../../src/store/lmdb/lmdb-store.ts";
import type { OrderedLog } from "../../src/store/ordered/ordered-log.ts";
import { pixelmillCommand } from "../e2e/command.ts";
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
  /** Stored figures, to which a test adds. */
  figures: FigureTables;
  /** Lines that were logged as errors. */
  failures(): string[];
  /** Tells every live tail of a workspace. */
  tell(workspaceId: string, message: TailMessage): void;
  followers(): number;
  tokenWith(permissions: Permission[], workspaceId?: string): Promise<string>;
  send(method: string, path: string, sent?: Sent): Promise<Received>;
  /** Evaluates all alert rules once. */
  evaluateAlerts(): Promise<void>;
  /** Puts a page event into the log, as the pixel listener does. */
  page(sourceId: string, query: string): Promise<void>;
  append(record: EventRecord): Promise<void>;
  stop(): Promise<void>;
}

export interface Sent {
  /** JSON, unless it is text or bytes already. */
  body?: unknown;
  headers?: Record<string, string>;
  /** Value of the header `Authorization`; null sends none. */
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

export interface TestApiOptions {
  /** With it, the server is one of several nodes that share a catalog. */
  order?: OrderedLog;
  mailServer?: MailServer;
  /** Clock of the alerts. */
  alertClock?: { elapsed(): number; now(): number };
  /** Limits of user code. */
  guestLimits?: Partial<SandboxLimits>;
  /** Longest time that a publication waits until it is stored. */
  commitMsMax?: number;
  /** Data directory to open. It is kept when the server stops. */
  directory?: string;
}

export async function startApi(
  more: Partial<ApiDeps> = {},
  options: TestApiOptions = {},
): Promise<TestApi> {
  const { order, mailServer, alertClock } = options;
  const directory = options.directory ?? (await mkdtemp(join(tmpdir(), "pixelmill-api-")));
  const log: string[] = [];
  const logger = pino({ level: "trace" }, { write: (line: string) => void log.push(line) });
  const parts = await openParts(directory, logger, options);
  const { catalog, metrics } = parts;
  const workspace = catalog.workspaces.list()[0] ?? (await catalog.workspaces.create("Acme"));
  const tails = new Set<{ workspaceId: string; receive: (message: TailMessage) => void }>();
  const readiness: Readiness = { ready: true, checks: { log: { ok: true } }, warnings: [] };

  const alerts = createAlerting({
    catalog,
    send: createSender({
      egress: createEgress({ allow: ["127.0.0.0/8"] }),
      // The mail server's certificate is for a name that no name server knows.
      mailEgress: createEgress({ allow: ["127.0.0.0/8"], resolve: loopback }),
      mailServer: () => mailServer,
    }),
    consoleUrl: () => "http://console.example",
    isShared: order !== undefined,
    hasMailServer: () => mailServer !== undefined,
    logger,
    metrics,
    ...alertClock,
  });
  const api = createApi({
    catalog,
    publishing: parts.publishing,
    pipeline: {
      current: parts.pipeline.current,
      logEnds: parts.pipeline.logEnds,
      deadLetters: parts.pipeline.deadLetters,
      replays: parts.pipeline.replays,
      status: parts.pipeline.status,
      codeLogs: parts.pipeline.codeLogs,
      latestOutcomes: parts.pipeline.latestOutcomes,
      search: parts.pipeline.search,
      outcomes: parts.pipeline.outcomes,
      // Told by the test: when a message comes is what these tests are about.
      liveTail: {
        subscribe(workspaceId, receive) {
          const tail = { workspaceId, receive };
          tails.add(tail);
          return () => tails.delete(tail);
        },
      },
    },
    figures: parts.figures,
    kinds: parts.kinds,
    definitions: readDefinitions(undefined),
    alerts,
    diskSpace: () => ({ freeBytes: 50e9, sizeBytes: 100e9 }),
    suspensions: () => [],
    slowCode: () => new Map(),
    requestsPerSecondMax: 0,
    onFailedHandshake() {},
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
    signOn: unreachableProvider(),
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
    figures: parts.figures.tables(),
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
    evaluateAlerts: () => alerts.evaluate(api.alertFacts),
    append: parts.append,
    page: parts.page,
    async stop() {
      await api.stop();
      await alerts.close();
      await parts.close();
      if (options.directory === undefined) await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Single sign-on at a provider that never answers. */
function unreachableProvider(): SignOn {
  const provider = new OpenIdProvider({
    ...{ issuer: "http://127.0.0.1:1", clientId: "pixelmill", consoleUrl: "http://127.0.0.1:1" },
    ...{ scopes: ["openid"], groupsClaim: "groups", roles: [] },
  });
  return { provider, name: "Acme", workspaceId: undefined, sessionSeconds: 600 };
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

/** Figures that are stored in the directory, whenever a test calls `step`. */
function openTestFigures(directory: string, { figures }: Pipeline, logger: Logger) {
  const path = join(directory, "figures/figures.mdb");
  const store = openStore({ path, name: "The figures", logger });
  const tables = new FigureTables(store);
  const recorder = new FigureRecorder({
    tables: () => tables,
    collect: figures.minute,
    collectLag: figures.lag,
    share: () => 1,
    now: Date.now,
    earliestNow: Date.now,
    logger,
  });
  const close = async () => {
    await recorder.close();
    await store.close();
  };
  return { tables: () => tables, unwritten: recorder.unwritten.bind(recorder), close };
}
const loopback = async () => ({ addresses: ["127.0.0.1"], seconds: 60 });

/**
 * A sandbox that starts no guest before a test needs one, since most tests of the API run no code.
 */
function createdAtFirstUse(create: () => GuestSandbox): GuestSandbox {
  let sandbox: GuestSandbox | undefined;
  const get = (_: GuestSandbox, name: keyof GuestSandbox) =>
    name === "close"
      ? async () => sandbox?.close()
      : (...args: never[]) => {
          sandbox ??= create();
          return (sandbox[name] as (...args: never[]) => unknown)(...args);
        };
  return new Proxy({} as GuestSandbox, { get });
}

/** The parts below the API, all real. */
async function openParts(
  directory: string,
  logger: Logger,
  { order, guestLimits = {}, commitMsMax }: TestApiOptions = {},
) {
  const metrics = createMetrics();
  const catalog = await openCatalog({
    ...{ directory: join(directory, "catalog"), logger },
    ...(order && { order }),
  });
  const sandbox = createdAtFirstUse(() =>
    createSandbox({
      guestCommand: [...pixelmillCommand, "guest"],
      insecure: false,
      log: logger,
      limits: { spares: 0, ...guestLimits },
    }),
  );
  const kinds = destinationKinds({
    directory: join(directory, "files"),
    egress: createEgress({ allow: ["127.0.0.0/8"] }),
  });
  const events = join(directory, "events");
  const log = await openLogWriter({ directory: events, codec: eventRecordCodec, logger });
  const reader = await openLogReader({ directory: events, losses: new LossReport({ logger }) });
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
  const figures = openTestFigures(directory, pipeline, logger);
  const append = async (record: EventRecord) => {
    await log.append(record);
    reader.advance(log.durable());
    (await woken)();
  };
  return {
    metrics,
    catalog,
    figures,
    kinds,
    sandbox,
    pipeline,
    publishing: createPublisher({ catalog, sandbox, ...(commitMsMax && { commitMsMax }) }),
    async page(sourceId: string, query: string) {
      const messageId = crypto.getRandomValues(new Uint8Array(16));
      const at = { receivedAt: Date.now(), sourceId, clientAddress: "", messageId };
      await append({ type: "page", ...at, query });
    },
    append,
    async close() {
      await pipeline.close();
      await figures.close();
      await log.close();
      await reader.close();
      await sandbox.close();
      await catalog.close();
    },
  };
}
