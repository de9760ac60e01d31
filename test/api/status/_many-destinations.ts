import { startApi, type TestApi } from "../_setup.ts";

export const DESTINATIONS = 500;
/** Destinations with numbers below this fail. */
export const FAILING = 40;
/** Number of the destination that is down: no list and no page of the catalog begins with it. */
export const DOWN = 453;

export interface ManyDestinations {
  api: TestApi;
  /** Ids of the destinations by number. */
  ids: string[];
}

/** States of the destinations, as another node of the cluster reports them. */
function lanesOf(ids: readonly string[]) {
  const rates = { received: 1 / 3, delivered: 1 / 3, dropped: 0, failed: 0 };
  const healthy = { lagEvents: 3, lagSeconds: 1 / 3, isWaiting: false, rates };
  return Object.fromEntries(
    ids.map((id, n) => {
      const since = Date.now() - n * 1_000;
      if (n === DOWN)
        return [id, { ...healthy, failure: { isDown: true, since, reason: "No route" } }];
      if (n >= FAILING) return [id, healthy];
      const reason = "HTTP 503 from receiver";
      return [id, { ...healthy, failure: { isDown: false, since, reason } }];
    }),
  );
}

/** Starts an API with 500 connected destinations, of which 40 fail and one is down. */
export async function startManyDestinations(): Promise<ManyDestinations> {
  const ids: string[] = [];
  const rest = { connections: {}, suspensions: [], troubles: [], warnings: [] };
  const answer = () => new Map([["two", { lanes: lanesOf(ids), ...rest }]]);
  const api = await startApi({
    others: {
      node: "one",
      answerWith: () => {},
      ask: async () => ({ answers: answer(), missing: [] }),
    },
  });
  const source = await api.catalog.sources.create(api.workspaceId, { name: "Website" });
  // All at once, so that they share commits.
  const made = await Promise.all(
    Array.from({ length: DESTINATIONS }, (_, n) =>
      api.catalog.destinations.create(api.workspaceId, {
        name: `Billing webhook ${n}`,
        type: "webhook",
        config: { webhookUrl: "https://receiver.test/" },
      }),
    ),
  );
  ids.push(...made.map(({ id }) => id));
  const connect = (destinationId: string) =>
    api.catalog.connections.create(api.workspaceId, { sourceId: source.id, destinationId }, {});
  await Promise.all(ids.map(connect));
  return { api, ids };
}
