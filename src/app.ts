import { existsSync } from "node:fs";
import { join } from "node:path";
import { AggregatorRegistry } from "prom-client";
import { createApi } from "./api/api.ts";
import type { Readiness, Suspension } from "./api/parts.ts";
import type { Catalog } from "./catalog/catalog.ts";
import { openCatalog } from "./catalog/open.ts";
import type { Config } from "./config.ts";
import { destinationKinds } from "./destinations/kinds.ts";
import { createEgress } from "./egress/egress.ts";
import { guestFetch } from "./egress/guest-fetch.ts";
import { eventOf } from "./event/event.ts";
import { decodeRecord } from "./event/record.ts";
import { readDescriptors } from "./http/descriptors.ts";
import { showDisk } from "./observe/disk.ts";
import type { Logger } from "./observe/log.ts";
import { createMetrics, type Metrics } from "./observe/metrics.ts";
import { createPipeline, type Pipeline } from "./pipeline/pipeline.ts";
import { knownPositions } from "./pipeline/reading/known-positions.ts";
import { Ledger } from "./pipeline/settling/ledger.ts";
import { createClientAddresses } from "./pixel/client-address.ts";
import { type Ingest, startIngestProcesses } from "./pixel/supervisor.ts";
import { createPublishing } from "./publishing/create.ts";
import { transformationVersionOf } from "./publishing/program.ts";
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
import { addDemo } from "./start/demo.ts";
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

/** Opens the parts in order; what is open already is closed again when a later one fails. */
export async function openApp(config: Config, options: AppOptions): Promise<App> {
  const { logger, print } = options;
  await using opening = new AsyncDisposableStack();
  const metrics = createMetrics();
  if (config["sandbox.insecure"]) logger.warn(INSECURE);

  prepareData(config);
  opening.defer(await lockData(config));
  if (existsSync(holdFile(config))) logger.warn(HELD);
  showDisk(metrics, config.data, {
    events: eventsDirectory(config),
    delivery: deliveryDirectory(config),
    catalog: catalogDirectory(config),
    files: filesDirectory(config),
  });
  const catalog = await openCatalog({ directory: catalogDirectory(config), logger });
  opening.defer(() => catalog.close());

  const database = config["geolocation.database"];
  const nameServers = config["egress.resolver"];
  const { max: descriptorsMax } = readDescriptors();
  const fetchEgress = createEgress({
    allow: config["sandbox.fetch.allow"],
    allowSetting: "sandbox.fetch.allow",
    nameServers,
    descriptorsMax,
  });
  opening.defer(() => fetchEgress.close());
  const memory = config["sandbox.memory"];
  const sandbox = createSandbox({
    guestCommand: [...self, "guest"],
    insecure: config["sandbox.insecure"],
    ...(memory > 0 && { limits: { memoryBytes: memory * 2 ** 20 } }),
    fetch: guestFetch(fetchEgress),
    ...(database !== undefined && { geolocation: openGeolocation(database) }),
    log: logger,
    metrics,
  });
  opening.defer(() => sandbox.close());
  const publishing = createPublishing({ catalog, sandbox });

  const ledger = new Ledger(deliveryDirectory(config), logger);
  opening.defer(() => ledger.close());
  const ingest = await startIngestProcesses({
    command: [...self, "ingest"],
    count: config["ingest.processes"],
    directory: eventsDirectory(config),
    known: knownPositions(catalog.live, ledger),
    catalogDirectory: catalogDirectory(config),
    host: config.host,
    port: config.port,
    trustedProxies: config["trusted.proxies"],
    recordClientAddress: config["request.ip"],
    pixelsPerSecondMax: config["ingest.rate"],
    connectionsPerNetworkMax: config["ingest.connections"],
    logLevel: config["log.level"],
    logger,
    metrics,
  });
  opening.defer(() => ingest.close());

  const egress = createEgress({ allow: config["egress.allow"], nameServers, descriptorsMax });
  opening.defer(() => egress.close());
  const kinds = destinationKinds({ directory: filesDirectory(config), egress });
  const pipeline = createPipeline({
    live: catalog.live,
    sandbox,
    readers: ingest.readers,
    onDurable: ingest.onDurable,
    decode: decodeRecord,
    eventOf,
    kinds,
    ledger,
    held: () => existsSync(holdFile(config)),
    retryWindowMs: config["retry.window"] * 1_000,
    deadLetterBounds: {
      countMax: config["dead.letters.count"],
      ageMsMax: config["dead.letters.age"] * 1_000,
    },
    logger,
    metrics,
  });
  opening.defer(() => pipeline.close());

  const clients = createClientAddresses(config["trusted.proxies"]);
  const api = createApi({
    catalog,
    publishing,
    pipeline,
    kinds,
    suspensions: (workspaceId) => suspensionsOf(sandbox, workspaceId),
    ready: () => readiness({ config, ingest, sandbox, catalog, pipeline }),
    metricsText: () => metricsOf(metrics, ingest),
    clientOf(peer, forwardedFor) {
      const address = clients.of({ peer, forwardedFor: () => forwardedFor });
      return clients.networkOf(address) ?? address;
    },
    dataPlaneUrl: () => config["public.url"] ?? reachable(ingest.url),
    hosts: [config["admin.host"], ...config["admin.hosts"]].map((it) => it.toLowerCase()),
    version,
    python: config["api.python"],
    requestsPerSecondMax: config["admin.rate"],
    logger,
    metrics,
  });

  // Both ports are taken before anything is made that is shown but once.
  const controlPlaneUrl = await api.start({
    host: config["admin.host"],
    port: config["admin.port"],
  });
  // First of all, nothing more is accepted, neither pixels nor requests.
  opening.defer(async () => {
    await Promise.all([ingest.stop(), api.stop()]);
  });

  const workspace = await firstWorkspace(catalog, {
    name: options.demo ? "Demo" : "Main",
    adminToken: config["admin.token"],
    unseen: tokenUnseen(config),
    print,
  });
  if (options.demo) {
    const demo = await addDemo({ catalog, publishing, logEnds: pipeline.logEnds }, workspace);
    if (demo) {
      if (!demo.withCode) print(`demo: ${sandbox.status().reason}. ${WITHOUT_CODE}`);
      const query = `writeKey=${demo.writeKey}&anonymousId=me&name=Home&properties.plan=pro`;
      print(`demo: open ${reachable(ingest.url)}/pixel/v1/page?${query}`);
      print(`demo: then look into ${join(filesDirectory(config), demo.file)}`);
    } else {
      print("demo: skipped, this data directory has sources of its own");
    }
    const docs = `${reachable(controlPlaneUrl)}/docs`;
    print(`demo: the API's reference is ${docs}; any name, and the admin token as password`);
  }

  const parts = opening.move();
  return { dataPlaneUrl: ingest.url, controlPlaneUrl, close: () => parts.disposeAsync() };
}

function suspensionsOf(sandbox: GuestSandbox, workspaceId: string): Suspension[] {
  return sandbox
    .suspended()
    .filter((suspension) => suspension.workspaceId === workspaceId)
    .map(({ programId, name, until, reason }) => ({
      transformationVersionId: transformationVersionOf(programId),
      ...{ name, until, reason },
    }));
}

const HELD = "Deliveries are held until `pixelmill release` is called for this data directory";
const INSECURE = "User code may run although it is not confined (sandbox.insecure)";

const WITHOUT_CODE =
  "Events arrive unchanged. User code needs Linux 5.13 or later with Landlock among the security " +
  "modules (/sys/kernel/security/lsm) and seccomp; code that is trusted like this server itself " +
  "runs without them under --sandbox-insecure";

/** "Every address" is for listening; a client on this machine needs one to go to. */
const reachable = (url: string) => url.replace(/\/\/(0\.0\.0\.0|\[::\])/, "//localhost");

function readiness(parts: {
  config: Config;
  ingest: Ingest;
  sandbox: GuestSandbox;
  catalog: Pick<Catalog, "trouble">;
  pipeline: Pick<Pipeline, "trouble">;
}): Readiness {
  const { state, reason, insecure } = parts.sandbox.status();
  const check = (trouble: string | undefined) =>
    trouble === undefined ? { ok: true } : { ok: false, message: trouble };
  const ingestTrouble = "A process that takes pixels is down or cannot write its log";
  const checks = {
    ingest: check(parts.ingest.healthy() ? undefined : ingestTrouble),
    sandbox: check(state === "ready" ? undefined : (reason ?? "Not started yet")),
    catalog: check(parts.catalog.trouble()),
    delivery: check(parts.pipeline.trouble()),
  };
  return {
    ready: Object.values(checks).every(({ ok }) => ok),
    checks,
    warnings: [
      ...(insecure ? [INSECURE] : []),
      ...(existsSync(holdFile(parts.config)) ? [HELD] : []),
      ...parts.ingest.warnings(),
    ],
  };
}

/** The metrics of the server and of each ingest process, told apart by the label `process`. */
async function metricsOf(metrics: Metrics, ingest: Ingest): Promise<string> {
  const all = [await metrics.getMetricsAsJSON(), ...(await ingest.metrics())];
  return AggregatorRegistry.aggregate(all).metrics();
}
