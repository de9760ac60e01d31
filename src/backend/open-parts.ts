/** Opens the parts of the server that are the same on a standalone server and a cluster node. */
import { dirname } from "node:path";
import { type Alerting, createAlerting } from "../alerts/alerting.ts";
import { createSender } from "../alerts/receivers/send.ts";
import { destinationKinds } from "../destinations/destination-kinds.ts";
import { createEgress, type Egress, type EgressOptions } from "../egress/egress.ts";
import { guestFetch } from "../egress/guest-fetch.ts";
import { eventOf } from "../event/event.ts";
import { readRecord } from "../event/record.ts";
import type { MinuteCounters } from "../figures/minute-counters.ts";
import {
  acquireDataLock,
  catalogDirectory,
  deliveryDirectory,
  eventsDirectory,
  figuresFile,
  filesDirectory,
  prepareDataDirectory,
  watchHold,
} from "../first-start/data-directory.ts";
import { readDescriptorLimits } from "../http/descriptor-limits.ts";
import { measureDisk } from "../observe/disk.ts";
import { createEnrichedEvents } from "../pipeline/enriching/enrich.ts";
import { createSandbox, type GuestSandbox } from "../sandbox/guest-sandbox.ts";
import type { Geolocation } from "../sandbox/host-calls/geolocation.ts";
import { selfCommand } from "../self-command.ts";
import { type Backend, retentionBounds, type StartContext } from "./backend.ts";
import { mailServerOf } from "./mail-server.ts";
import type { GeolocationDatabase } from "./reloadable/open-geolocation.ts";

/**
 * Creates the data directory, or checks an existing one. Locks it for this server. Returns the
 * measurement of its disk use, and a function that says whether deliveries are on hold.
 */
export async function openDataDirectory(opening: StartContext) {
  const { config, metrics, stack } = opening;
  prepareDataDirectory(config);
  stack.defer(await acquireDataLock(config));
  const disk = measureDisk(metrics, config.data, {
    events: eventsDirectory(config),
    delivery: deliveryDirectory(config),
    catalog: catalogDirectory(config),
    files: filesDirectory(config),
    figures: dirname(figuresFile(config)),
  });
  return { disk, isOnHold: watchHold(config) };
}

/**
 * Creates an egress, which opens connections to other hosts: to public addresses, and to other
 * addresses only if `rules` allow them.
 */
function openEgress(
  { config, stack }: StartContext,
  rules: Pick<EgressOptions, "allow" | "allowSetting">,
): Egress {
  const nameServers = config["egress.resolver"];
  const egress = createEgress({
    ...rules,
    nameServers,
    descriptorsMax: readDescriptorLimits().max,
  });
  stack.defer(() => egress.close());
  return egress;
}

/**
 * Creates the sandbox for user code, with the options from the settings. `geolocation` looks up IP
 * addresses for user code.
 */
export function openSandbox(
  opening: StartContext,
  geolocation: Geolocation | undefined,
): GuestSandbox {
  const { config, logger, metrics, stack } = opening;
  const allow = config["sandbox.fetch.allow"];
  const egress = openEgress(opening, { allow, allowSetting: "sandbox.fetch.allow" });
  const memory = config["sandbox.memory"];
  const sandbox = createSandbox({
    guestCommand: [...selfCommand, "guest"],
    insecure: config["sandbox.insecure"],
    ...(memory > 0 && { limits: { memoryBytes: memory * 2 ** 20 } }),
    fetch: guestFetch(egress),
    geolocation,
    log: logger,
    metrics,
  });
  stack.defer(() => sandbox.close());
  return sandbox;
}

interface PipelineSources {
  backend: Backend;
  sandbox: GuestSandbox;
  received: MinuteCounters;
  geolocation: GeolocationDatabase;
  /** Whether deliveries are on hold. */
  isOnHold(): boolean;
}

/**
 * Starts the pipeline, and creates the kinds of destinations (such as `webhook`) to which it
 * delivers.
 */
export function openPipeline(opening: StartContext, sources: PipelineSources) {
  const { config, stack } = opening;
  const { backend, sandbox, received, geolocation, isOnHold } = sources;
  const egress = openEgress(opening, { allow: config["egress.allow"] });
  const kinds = destinationKinds({ directory: filesDirectory(config), egress });
  const pipeline = backend.startPipeline({
    sandbox,
    kinds,
    received,
    eventOf: createEnrichedEvents({
      eventOf,
      live: backend.catalog.live,
      place: geolocation.place,
    }),
    decode: readRecord,
    isOnHold,
    metricsOfTenants: config["metrics.tenants"],
    retryWindowMs: config["retry.window"] * 1_000,
    retentionBounds: retentionBounds(config),
    deadLetterBounds: {
      countMax: config["dead.letters.count"],
      ageMsMax: config["dead.letters.age"] * 1_000,
    },
  });
  stack.defer(() => pipeline.close());
  return { pipeline, kinds };
}

/** Ranges that contain every IP address. The operator's mail server may have any address. */
const EVERYWHERE = ["0.0.0.0/0", "::/0"];

/**
 * Opens the part of the server that evaluates alert rules and sends notifications. Throws
 * `StartError` when the settings of the mail server contradict each other.
 */
export function openAlerts(
  opening: StartContext,
  { catalog, others }: Pick<Backend, "catalog" | "others">,
  consoleUrl: () => string,
): Alerting {
  const { config, settings, logger, metrics, stack } = opening;
  let mailServer = mailServerOf(config);
  settings.add({
    keys: ["smtp.server", "smtp.tls", "smtp.ca", "smtp.user", "smtp.password", "smtp.from"],
    prepare(next) {
      const server = mailServerOf(next);
      return () => {
        mailServer = server;
      };
    },
  });
  const alerts = createAlerting({
    catalog,
    send: createSender({
      egress: openEgress(opening, { allow: config["egress.allow"] }),
      mailEgress: openEgress(opening, { allow: EVERYWHERE }),
      mailServer: () => mailServer,
    }),
    consoleUrl,
    isShared: others !== undefined,
    hasMailServer: () => mailServer !== undefined,
    logger,
    metrics,
  });
  stack.defer(() => alerts.close());
  return alerts;
}
