import { existsSync } from "node:fs";
import { destinationKinds } from "../destinations/destination-kinds.ts";
import { createEgress } from "../egress/egress.ts";
import { eventOf } from "../event/event.ts";
import { readRecord } from "../event/record.ts";
import type { MinuteCounters } from "../figures/minute-counters.ts";
import { filesDirectory, holdFile } from "../first-start/data-directory.ts";
import { readDescriptorLimits } from "../http/descriptor-limits.ts";
import { createEnrichedEvents } from "../pipeline/enriching/enrich.ts";
import type { GuestSandbox } from "../sandbox/guest-sandbox.ts";
import { type Backend, retentionBounds, type StartContext } from "./backend.ts";
import type { GeolocationDatabase } from "./reloadable/open-geolocation.ts";

interface PipelineSources {
  backend: Backend;
  sandbox: GuestSandbox;
  received: MinuteCounters;
  geolocation: GeolocationDatabase;
}

/**
 * Starts the pipeline, and creates the kinds of destinations (such as `webhook`) to which it
 * delivers.
 */
export function openPipeline(opening: StartContext, sources: PipelineSources) {
  const { config, stack } = opening;
  const { backend, sandbox, received, geolocation } = sources;
  const egress = createEgress({
    allow: config["egress.allow"],
    nameServers: config["egress.resolver"],
    descriptorsMax: readDescriptorLimits().max,
  });
  stack.defer(() => egress.close());
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
    isOnHold: () => existsSync(holdFile(config)),
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
