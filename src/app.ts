import { Gauge } from "prom-client";
import { type Api, createApi } from "./api/api.ts";
import type { ApiDeps } from "./api/deps.ts";
import { controlPlaneHosts } from "./api/request/cross-site.ts";
import { openSignOn } from "./api/sign-in/sign-on.ts";
import { type Backend, retentionBounds, type StartContext } from "./backend/backend.ts";
import { openFigures } from "./backend/figures.ts";
import { openAlerts, openDataDirectory, openPipeline, openSandbox } from "./backend/open-parts.ts";
import { type Certificates, openCertificates } from "./backend/reloadable/certificates.ts";
import { openControlSocket } from "./backend/reloadable/control-socket.ts";
import { openGeolocationDatabase } from "./backend/reloadable/open-geolocation.ts";
import { openIngest } from "./backend/reloadable/open-ingest.ts";
import { addServerSettings, startApi } from "./backend/reloadable/start-api.ts";
import { openStandalone } from "./backend/standalone.ts";
import { startBackups } from "./backup/scheduled-backups.ts";
import { catalogFile } from "./catalog/store.ts";
import { readDefinitions } from "./destinations/rudder-server/read-definitions.ts";
import { reservedBytes } from "./disk/reserve.ts";
import type { FigureRecorder } from "./figures/figure-recorder.ts";
import { MinuteCounters } from "./figures/minute-counters.ts";
import { filesDirectory, unprintedToken } from "./first-start/data-directory.ts";
import { showDemo } from "./first-start/demo.ts";
import { firstWorkspace } from "./first-start/first-workspace.ts";
import {
  DELIVERIES_HELD,
  metricsText,
  NO_WORKSPACE,
  programSuspensions,
  readiness,
  SANDBOX_INSECURE,
  slowRevisions,
  systemFigures,
} from "./health.ts";
import { reachableUrl } from "./http/url.ts";
import { createClientAddresses } from "./ingest/client-address.ts";
import type { Ingest } from "./ingest/supervisor/supervisor.ts";
import { type DiskUsage, readDiskSpace } from "./observe/disk.ts";
import type { Logger } from "./observe/log.ts";
import { createMetrics, type Metrics } from "./observe/metrics.ts";
import { recentResult } from "./observe/recent-result.ts";
import { StartSteps, type StepDurations } from "./observe/start-steps.ts";
import { createFailedHandshakes, type FailedHandshakes } from "./observe/tls-metrics.ts";
import type { Pipeline } from "./pipeline/pipeline.ts";
import { createPublisher } from "./publishing/create-publisher.ts";
import type { GuestSandbox } from "./sandbox/guest-sandbox.ts";
import { FIGURE_COUNTERS_MAX } from "./settings/limits.ts";
import type { LiveSettings } from "./settings/live-settings.ts";
import { whileUnavailable } from "./store/while-unavailable.ts";
import { duplicates, type PlaneSockets } from "./take-over/messages.ts";
import { openTransformer } from "./transformer/listener.ts";
import { version } from "./version.ts";

/**
 * Milliseconds for which the text of the metrics is cached. Scrapes within this time get the same
 * text.
 */
const METRICS_KEPT_MS = 1_000;

export interface App {
  dataPlaneUrl: string;
  controlPlaneUrl: string;
  /** URL of the transformer's listener. Undefined if the setting `transformer.port` is not set. */
  transformerUrl: string | undefined;
  startMs: StepDurations;
  /**
   * Resolves with a reason when the server cannot continue to run. The caller must then close it.
   */
  broken: Promise<string>;
  /**
   * Stops the server: finishes requests and batches in flight, and writes out buffered data. With
   * `hand-over`, accepts events until deliveries have stopped, so that clients wait only briefly
   * for the server that takes over.
   */
  close(how?: "stop" | "hand-over"): Promise<void>;
  /**
   * Returns duplicates of the listening sockets, for another server that takes over from this one.
   * The caller closes the duplicates.
   */
  sockets(): PlaneSockets;
}

export interface AppOptions {
  demo: boolean;
  logger: Logger;
  /** Listening sockets that another process has passed on. The server opens the others itself. */
  sockets?: PlaneSockets;
  /**
   * Prints a line on the operator's terminal, such as a token that is shown only once or the demo's
   * URL.
   */
  print(line: string): void;
}

/**
 * Starts the server by opening its parts (catalog, logs, listeners and others) in order. When one
 * part fails to open, closes the parts that are already open.
 */
export async function openApp(settings: LiveSettings, options: AppOptions): Promise<App> {
  const { logger, print, sockets = {} } = options;
  const { config } = settings;
  await using stack = new AsyncDisposableStack();
  const { promise: broken, resolve: requestStop } = Promise.withResolvers<string>();
  const metrics = createMetrics();
  const steps = new StartSteps(logger);
  const opening: StartContext = { config, settings, logger, metrics, stack, steps, requestStop };
  if (config["sandbox.insecure"]) logger.warn(SANDBOX_INSECURE);

  stack.defer(() => settings.removeParts());
  const certificates = openCertificates(opening);
  const { disk, isOnHold } = await openDataDirectory(opening);
  if (isOnHold()) logger.warn(DELIVERIES_HELD);
  const backend = await openBackend(opening);
  const { catalog } = backend;
  const geolocation = openGeolocationDatabase(opening);
  const sandbox = openSandbox(opening, geolocation.record);
  const publishing = createPublisher({ catalog, sandbox });
  const received = new MinuteCounters(FIGURE_COUNTERS_MAX);
  const ingest = await openIngest(opening, { backend, received, certificates, sockets });
  const recordFigures = openFigures(opening, backend.figures);
  const events = { backend, sandbox, received, geolocation, isOnHold };
  const { pipeline, kinds } = openPipeline(opening, events);
  const figures = recordFigures(pipeline);
  let starting: string | undefined = NO_WORKSPACE;
  let consoleUrl = config["admin.url"]?.replace(/\/+$/, "");
  const alerts = openAlerts(opening, backend, () => consoleUrl ?? "");
  const parts = { backend, sandbox, publishing, ingest, pipeline, figures, kinds, disk, alerts };
  const listening = { certificates, failedHandshakes: createFailedHandshakes(metrics) };
  const api = openApi(opening, { ...parts, ...listening, isOnHold, starting: () => starting });
  addServerSettings(opening, backend, api);

  const first = async () => {
    const make = () =>
      firstWorkspace(catalog, {
        name: options.demo ? "Demo" : "Main",
        adminToken: config["admin.token"],
        unprintedToken: unprintedToken(config),
        print,
      });
    const isShared = backend.nodes !== undefined;
    const workspace = await steps.run("look for the first workspace", () =>
      isShared ? whileUnavailable(make) : make(),
    );
    starting = undefined;
    return workspace;
  };
  // Listens on both ports before it creates secrets. A start that fails later would lose secrets
  // that are shown only once. With a given socket, clients wait until the workspace exists.
  const early = sockets["control-plane"] && (await first());
  const controlPlaneUrl = await startApi(api, opening, { certificates, sockets });
  consoleUrl ??= reachableUrl(controlPlaneUrl);
  const transformer = openTransformer(opening, { catalog, sandbox, ...listening, sockets });
  // Closing the app begins with this step: it accepts no more pixels and requests. In a hand-over,
  // the ingest processes stop later, when the pipeline is closed.
  let isHandedOver = false;
  stack.defer(async () => {
    if (isHandedOver) await ingest.drain();
    const pixels = isHandedOver ? undefined : ingest.stop();
    await Promise.all([backend.leave(), pixels, api.stop(), transformer?.stop()]);
  });

  const workspace = early ?? (await first());
  if (options.demo) {
    await showDemo({ catalog, publishing, logEnds: pipeline.logEnds }, workspace, {
      print,
      dataPlaneUrl: ingest.url,
      controlPlaneUrl,
      filesDirectory: filesDirectory(config),
      whyNoCode: () => sandbox.status().reason,
    });
  }

  openControlSocket(opening);
  backend.join(controlPlaneUrl, () => sandboxTrouble(sandbox));
  alerts.start(api.alertFacts);
  const opened = stack.move();
  return {
    dataPlaneUrl: ingest.url,
    controlPlaneUrl,
    transformerUrl: transformer?.url,
    startMs: steps.durations(),
    broken,
    async close(how) {
      isHandedOver = how === "hand-over";
      await opened.disposeAsync();
    },
    sockets: () =>
      duplicates({
        "data-plane": ingest.socket,
        "control-plane": api.socket(),
        transformer: transformer?.socket,
      }),
  };
}

/**
 * Opens the storage of a standalone server or of a cluster node, as the settings say. Imports the
 * module `backend/cluster.ts` only for a cluster node.
 */
async function openBackend(opening: StartContext): Promise<Backend> {
  const isAlone = opening.config["cluster.kafka"].length === 0;
  const backend = isAlone
    ? await openStandalone(opening)
    : await import("./backend/cluster.ts").then((it) => it.openCluster(opening));
  showReserve(opening.metrics, backend.catalogDirectory);
  return backend;
}

function showReserve(metrics: Metrics, catalogDirectory: string): void {
  new Gauge({
    name: "pixelmill_disk_reserve_bytes",
    help: "Disk space that the catalog's file keeps for changes on a full disk",
    registers: [metrics],
    collect() {
      this.set(reservedBytes(catalogFile(catalogDirectory)));
    },
  });
}

function sandboxTrouble(sandbox: GuestSandbox): string | undefined {
  const { state, reason } = sandbox.status();
  return state === "ready" ? undefined : reason;
}

interface ApiSources extends Pick<ApiDeps, "publishing" | "kinds" | "alerts" | "starting"> {
  backend: Backend;
  sandbox: GuestSandbox;
  ingest: Ingest;
  pipeline: Pipeline;
  figures: FigureRecorder;
  disk: DiskUsage;
  certificates: Certificates;
  failedHandshakes: FailedHandshakes;
  isOnHold(): boolean;
}

function openApi(opening: StartContext, sources: ApiSources): Api {
  const { config, logger, metrics, stack } = opening;
  const backups = startBackups(config, { logger, metrics });
  stack.defer(() => backups?.stop());
  const { backend, sandbox, ingest, starting, failedHandshakes } = sources;
  const { catalog, nodes, others } = backend;
  const clients = createClientAddresses(config["trusted.proxies"]);
  return createApi({
    ...sources,
    catalog,
    namespace: config["rudderstack.namespace"],
    opensCode: config["rudderstack.code.open"],
    definitions: readDefinitions(config["rudderstack.definitions"]),
    diskSpace: () => readDiskSpace(config.data),
    version,
    logger,
    metrics,
    suspensions: (workspaceId) => programSuspensions(sandbox, workspaceId),
    slowCode: (workspaceId) => slowRevisions(sandbox, workspaceId),
    ready: () => readiness({ ...sources, backups, starting: starting() }),
    onFailedHandshake: () => failedHandshakes.inc({ plane: "control" }),
    ...(nodes && { nodes }),
    ...(others && { others }),
    metricsText: recentResult(METRICS_KEPT_MS, () => metricsText(metrics, ingest)),
    system: () => systemFigures({ ...sources, retention: retentionBounds(config) }),
    clientOf(peer, forwardedFor) {
      const address = clients.of({ peer, header: () => forwardedFor });
      return clients.networkOf(address) ?? address;
    },
    signOn: openSignOn(config),
    dataPlaneUrl: () => config["public.url"] ?? reachableUrl(ingest.url),
    hosts: controlPlaneHosts(config),
    python: config["api.python"],
    headers: config["api.headers"],
    requestsPerSecondMax: config["admin.rate"],
  });
}
