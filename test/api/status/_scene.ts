import { createLimiters } from "../../../src/api/limiters.ts";
import type { StatusDeps } from "../../../src/api/routes/status/local-status.ts";
import type { Connection, Destination, Source } from "../../../src/catalog/model.ts";

export const noRates = { received: 0, delivered: 0, dropped: 0, failed: 0 };
const idle = { lagEvents: 0, lagSeconds: 0, isWaiting: false, isRejecting: false, rates: [] };

export interface Scene {
  destinations?: Partial<Destination>[];
  connections?: Partial<Connection>[];
  sources?: Partial<Source>[];
  /** State of the lane of each destination that has one. */
  lanes?: Record<string, object>;
  missing?: string[];
  blocked?: string;
}

/** A workspace on a node whose lanes are `lanes`; the nodes `missing` do not answer. */
export function scene({
  destinations = [],
  connections = [],
  sources = [],
  ...more
}: Scene): StatusDeps {
  const { lanes = {}, missing, blocked } = more;
  const of = (items: readonly object[]) => ({ each: () => items, count: () => items.length });
  return {
    limiters: createLimiters(0),
    ...(missing && { others: { node: "a", ask: async () => ({ answers: new Map(), missing }) } }),
    ready: () => ({
      warnings: [],
      checks: blocked ? { delivery: { ok: false, message: blocked } } : {},
    }),
    suspensions: () => [],
    slowCode: () => new Map(),
    catalog: {
      sources: of(sources),
      destinations: of(destinations.map((it) => ({ enabled: true, workspaceId: "w", ...it }))),
      connections: {
        ...of(connections),
        eachOf: (_: string, { sourceId }: Partial<Connection>) =>
          connections.filter((it) => it.sourceId === sourceId),
        idOf: (ends: Partial<Connection>) =>
          connections.find(
            (it) => it.sourceId === ends.sourceId && it.destinationId === ends.destinationId,
          )?.id,
      },
      code: { linkedTransformation: () => undefined },
    },
    pipeline: {
      status: (id: string) => lanes[id] && { ...idle, ...lanes[id] },
      deadLetters: { count: () => 0 },
    },
  } as unknown as StatusDeps;
}
