import type { Client } from "../../api/client.ts";
import type { ImportRun } from "./import-run.ts";
import type { RemoteConnection, RemoteItem } from "./rudderstack-api.ts";

/**
 * Maximum number of pages that are read from each list of this server, such as the list of sources.
 */
const PAGES_MAX = 10_000;

interface Resources {
  sources: readonly RemoteItem[];
  destinations: readonly RemoteItem[];
  connections: readonly RemoteConnection[];
}

/**
 * Copies sources, destinations and connections from RudderStack to this server. RudderStack's id
 * becomes the external id, by which a later run recognizes the copy. Events for copied destinations
 * are delivered by rudder-server.
 */
export async function importResources(
  client: Client,
  run: ImportRun,
  { sources, destinations, connections }: Resources,
): Promise<void> {
  const known = await knownResources(client);
  for (const { id: externalId, name, type, enabled, config } of sources) {
    await run.copy(`source ${name}`, externalId, known.sources, async () => {
      const body = { name, type, enabled, config, externalId };
      return (await client.call("POST /v2/sources", { body })).source.id;
    });
  }
  const secrets = await secretKeys(client);
  for (const { id: externalId, name, type, enabled, config } of destinations) {
    const own = secrets.get(type.toUpperCase()) ?? new Set();
    // RudderStack shows a secret in changed form, or not at all.
    const open = Object.fromEntries(Object.entries(config).filter(([key]) => !own.has(key)));
    await run.copy(`destination ${name}`, externalId, known.destinations, async () => {
      const deliveredBy = "rudder-server" as const;
      const body = { name, type, deliveredBy, enabled, config: open, externalId };
      return (await client.call("POST /v2/destinations", { body })).destination.id;
    });
  }
  for (const { id: externalId, enabled, ...ends } of connections) {
    const title = `connection ${ends.sourceId} → ${ends.destinationId}`;
    const sourceId = run.ids.get(ends.sourceId);
    const destinationId = run.ids.get(ends.destinationId);
    const isWhole = sourceId !== undefined && destinationId !== undefined;
    if (!isWhole && !run.isDry && !known.connections.has(externalId)) {
      run.fail(title, "Its source or destination was not copied");
      continue;
    }
    await run.copy(title, externalId, known.connections, async () => {
      const body = { sourceId: sourceId ?? "", destinationId: destinationId ?? "", enabled };
      const made = await client.call("POST /v2/connections", { body: { ...body, externalId } });
      return made.connection.id;
    });
  }
}

/** Returns ids of this server's sources, destinations and connections by external id. */
async function knownResources(client: Client) {
  return {
    sources: await byExternalId(client, "sources"),
    destinations: await byExternalId(client, "destinations"),
    connections: await byExternalId(client, "connections"),
  };
}

async function byExternalId(client: Client, list: keyof Resources): Promise<Map<string, string>> {
  // The three lists take the same parameters, and all of their items have `id` and `externalId`.
  const kind = list as "sources";
  const known = new Map<string, string>();
  for (let page = 1; page <= PAGES_MAX; page++) {
    const query = { page, hasExternalId: true };
    const items = (await client.call(`GET /v2/${kind}`, { query }))[kind];
    for (const { id, externalId } of items) if (externalId) known.set(externalId, id);
    if (items.length === 0) return known;
  }
  return known;
}

/** Returns which config keys are secret in each destination type of rudder-server, by type name. */
async function secretKeys(client: Client): Promise<Map<string, ReadonlySet<string>>> {
  const { destinationTypes } = await client.call("GET /v2/destination-types");
  return new Map(
    destinationTypes
      .filter(({ deliveredBy }) => deliveredBy === "rudder-server")
      .map(({ type, config }) => {
        const properties = (config.properties ?? {}) as Record<string, { writeOnly?: boolean }>;
        const keys = Object.entries(properties).filter(([, { writeOnly }]) => writeOnly);
        return [type.toUpperCase(), new Set(keys.map(([key]) => key))];
      }),
  );
}
