import { existsSync } from "node:fs";
import { type Api, createApi } from "./api/api.ts";
import type { ApiParts } from "./api/parts.ts";
import type { Catalog } from "./catalog/catalog.ts";
import { openCatalog } from "./catalog/open.ts";
import type { Config } from "./config.ts";
import { destinationKinds } from "./destinations/kinds.ts";
import { createEgress } from "./egress/egress.ts";
import { guestFetch } from "./egress/guest-fetch.ts";
import { eventOf } from "./event/event.ts";
import { decodeRecord } from "./event/record.ts";
import { HELD, INSECURE, metricsOf, readiness, suspensionsOf, systemOf } from "./health.ts";
import { readDescriptors } from "./http/descriptors.ts";
import { reachable } from "./http/url.ts";
import type { EventLogs } from "./log/event-log.ts";
import { diskOf, showDisk } from "./observe/disk.ts";
import type { Logger } from "./observe/log.ts";
import { createMetrics, type Metrics } from "./observe/metrics.ts";
import type { RetentionBounds } from "./pipeline/keeping/retention.ts";
import { segmentsFor } from "./pipeline/keeping/segments.ts";
import { createPipeline, type Pipeline } from "./pipeline/pipeline.ts";
import { knownPositions } from "./pipeline/reading/known-positions.ts";
import { type Ledger, openLedger } from "./pipeline/settling/ledger.ts";
import { createClientAddresses } from "./pixel/client-address.ts";
import { type FileLogs, openFileLogs } from "./pixel/file-logs.ts";
import { type Ingest, startIngestProcesses } from "./pixel/supervisor.ts";
import { createPublishing } from "./publishing/create.ts";
import { openGeolocation } from "./sandbox/geolocation.ts";
import { createSandbox, type GuestSandbox } from "./sandbox/guest-sandbox.ts";
import { self } from "./self.ts";
import {
  catalogDirectory,
  deliveryDirectory,
  eventsDirectory,
  filesDirectory,
  holdFile,
  lockData,
  prepareData,
  tokenUnseen,
} from "./start/data-directory.ts";
import { showDemo } from "./start/demo.ts";
import { firstWorkspace } from "./start/first-workspace.ts";
import { version } from "./version.ts";

export interface App {
  dataPlaneUrl: string;
  controlPlaneUrl: string;
  /** Stops accepting, finishes what is in flight, makes durable. */
  close(): Promise<void>;
}

export interface AppOptions {
  demo: boolean;
  logger: Logger;
  /** Prints one line for the operator: tokens that are shown once, the demo's URL. */
  print(line: string): void;
}

/** What every part is opened with. */
interface Opening {
  config: Config;
  logger: Logger;
  metrics: Metrics;
  /** Closes what is open, the last part first, when a later part does not open. */
  stack: AsyncDisposableStack;
}

/** Opens the parts in order; what is open already is closed again when a later one fails. */
export async function openApp(config: Config, options: AppOptions): Promise<App> {
  const { logger, print } = options;
  await using stack = new AsyncDisposableStack();
  const opening: Opening = { config, logger, metrics: createMetrics(), stack };
  if (config["sandbox.insecure"]) logger.warn(INSECURE);

  await takeData(opening);
  const catalog = await openCatalog({ directory: catalogDirectory(config), logger });
  stack.defer(() => catalog.close());
  const sandbox = openSandbox(opening);
  const publishing = createPublishing({ catalog, sandbox });
  const ledger = openLedger(deliveryDirectory(config), logger);
  stack.defer(() => ledger.close());
  const logs = await openLogs(opening, catalog, ledger);
  const ingest = await openIngest(opening, logs);
  const { pipeline, kinds } = openPipeline(opening, { catalog, sandbox, ledger, logs });
  const api = openApi(opening, { catalog, sandbox, publishing, ingest, logs, pipeline, kinds });

  // Both ports are taken before anything is made that is shown only once.
  const controlPlaneUrl = await api.start({
    host: config["admin.host"],
    port: config["admin.port"],
  });
  // The first step of closing: neither pixels nor requests are accepted any more.
  stack.defer(async () => {
    await Promise.all([ingest.stop(), api.stop()]);
  });

  const workspace = await firstWorkspace(catalog, {
    name: options.demo ? "Demo" : "Main",
    adminToken: config["admin.token"],
    unseen: tokenUnseen(config),
    print,
  });
  if (options.demo) {
    await showDemo({ catalog, publishing, logEnds: pipeline.logEnds }, workspace, {
      ...{ print, dataPlaneUrl: ingest.url, controlPlaneUrl },
      filesDirectory: filesDirectory(config),
      whyNoCode: () => sandbox.status().reason,
    });
  }

  const parts = stack.move();
  return { dataPlaneUrl: ingest.url, controlPlaneUrl, close: () => parts.disposeAsync() };
}

/** Makes the data directory, or checks it, and holds it for this server alone. */
async function takeData({ config, logger, metrics, stack }: Opening): Promise<void> {
  prepareData(config);
  stack.defer(await lockData(config));
  if (existsSync(holdFile(config))) logger.warn(HELD);
  showDisk(metrics, config.data, {
    events: eventsDirectory(config),
    delivery: deliveryDirectory(config),
    catalog: catalogDirectory(config),
    files: filesDirectory(config),
  });
}

function openSandbox({ config, logger, metrics, stack }: Opening): GuestSandbox {
  const egress = createEgress({
    allow: config["sandbox.fetch.allow"],
    allowSetting: "sandbox.fetch.allow",
    nameServers: config["egress.resolver"],
    descriptorsMax: readDescriptors().max,
  });
  stack.defer(() => egress.close());
  const memory = config["sandbox.memory"];
  const database = config["geolocation.database"];
  const sandbox = createSandbox({
    guestCommand: [...self, "guest"],
    insecure: config["sandbox.insecure"],
    ...(memory > 0 && { limits: { memoryBytes: memory * 2 ** 20 } }),
    fetch: guestFetch(egress),
    ...(database !== undefined && { geolocation: openGeolocation(database) }),
    log: logger,
    metrics,
  });
  stack.defer(() => sandbox.close());
  return sandbox;
}

async function openLogs(opening: Opening, catalog: Catalog, ledger: Ledger): Promise<FileLogs> {
  const { config, logger, metrics, stack } = opening;
  const logs = await openFileLogs({
    directory: eventsDirectory(config),
    count: config["ingest.processes"],
    known: knownPositions(catalog.live, ledger),
    segments: segmentsFor(retentionBounds(config), config["ingest.processes"]),
    ...{ logger, metrics },
  });
  stack.defer(() => logs.close());
  return logs;
}

async function openIngest(opening: Opening, logs: FileLogs): Promise<Ingest> {
  const { config, logger, metrics, stack } = opening;
  const ingest = await startIngestProcesses({
    command: [...self, "ingest"],
    count: config["ingest.processes"],
    catalogDirectory: catalogDirectory(config),
    host: config.host,
    port: config.port,
    trustedProxies: config["trusted.proxies"],
    recordClientAddress: config["request.ip"],
    pixelsPerSecondMax: config["ingest.rate"],
    connectionsPerNetworkMax: config["ingest.connections"],
    logLevel: config["log.level"],
    ...{ logs, logger, metrics },
  });
  stack.defer(() => ingest.stop());
  return ingest;
}

function retentionBounds(config: Config): RetentionBounds {
  return {
    ageMsMax: config["events.retention.age"] * 1_000,
    bytesMax: config["events.retention.bytes"],
  };
}

interface PipelineSources {
  catalog: Catalog;
  sandbox: GuestSandbox;
  ledger: Ledger;
  logs: EventLogs;
}

function openPipeline(opening: Opening, { catalog, sandbox, ledger, logs }: PipelineSources) {
  const { config, logger, metrics, stack } = opening;
  const egress = createEgress({
    allow: config["egress.allow"],
    nameServers: config["egress.resolver"],
    descriptorsMax: readDescriptors().max,
  });
  stack.defer(() => egress.close());
  const kinds = destinationKinds({ directory: filesDirectory(config), egress });
  const pipeline = createPipeline({
    live: catalog.live,
    ...{ sandbox, ledger, kinds, eventOf, logger, metrics },
    readers: logs.readers,
    onDurable: logs.onDurable,
    decode: decodeRecord,
    held: () => existsSync(holdFile(config)),
    retryWindowMs: config["retry.window"] * 1_000,
    retentionBounds: retentionBounds(config),
    disk: () => diskOf(eventsDirectory(config)),
    deadLetterBounds: {
      countMax: config["dead.letters.count"],
      ageMsMax: config["dead.letters.age"] * 1_000,
    },
  });
  stack.defer(() => pipeline.close());
  return { pipeline, kinds };
}

interface ApiSources extends Pick<ApiParts, "publishing" | "kinds"> {
  catalog: Catalog;
  sandbox: GuestSandbox;
  ingest: Ingest;
  logs: EventLogs;
  pipeline: Pipeline;
}

function openApi({ config, logger, metrics }: Opening, sources: ApiSources): Api {
  const { catalog, sandbox, publishing, ingest, logs, pipeline, kinds } = sources;
  const clients = createClientAddresses(config["trusted.proxies"]);
  return createApi({
    ...{ catalog, publishing, pipeline, kinds, version, logger, metrics },
    suspensions: (workspaceId) => suspensionsOf(sandbox, workspaceId),
    ready: () => readiness({ config, ingest, logs, sandbox, catalog, pipeline }),
    metricsText: () => metricsOf(metrics, ingest),
    system: () => systemOf(metrics, ingest),
    clientOf(peer, forwardedFor) {
      const address = clients.of({ peer, forwardedFor: () => forwardedFor });
      return clients.networkOf(address) ?? address;
    },
    dataPlaneUrl: () => config["public.url"] ?? reachable(ingest.url),
    hosts: [config["admin.host"], ...config["admin.hosts"]].map((it) => it.toLowerCase()),
    python: config["api.python"],
    requestsPerSecondMax: config["admin.rate"],
  });
}
