import { defined } from "../../defined.ts";
import { withExternalId } from "../external-id.ts";
import type { Source } from "../model.ts";
import { newWriteKey } from "../secrets.ts";
import { type CatalogStore, inTransactions } from "../store.ts";
import type { Tables } from "../tables/tables.ts";
import { readsOf } from "../tables/workspace-table.ts";
import type { ItemLimits } from "./item-limits.ts";
import { changeTime, newItem } from "./item-times.ts";

/**
 * Fields of a source in a request. An empty external id removes the source's external id. Settings
 * that a change does not contain keep their values.
 */
interface SourceInput
  extends Pick<Source, "name" | "geoEnrichmentEnabled" | "transient" | "externalId" | "settings">,
    Partial<Pick<Source, "type" | "enabled" | "config">> {}

export function openSources(
  store: CatalogStore,
  { sources, connections, removedConnections, topology }: Tables,
  limits: ItemLimits,
) {
  function put(source: Source): Source {
    sources.put(source);
    topology.record([]);
    return source;
  }

  return {
    ...inTransactions(store, {
      create(workspaceId: string, input: SourceInput) {
        const source: Source = newItem(workspaceId, {
          name: input.name,
          ...typeOf(input.type),
          writeKey: newWriteKey(),
          enabled: input.enabled ?? true,
          config: input.config ?? {},
          ...rudderStackFields(input),
          ...(input.settings !== undefined && { settings: input.settings }),
        });
        limits.expectRoom(workspaceId, "sources");
        return put(withExternalId(source, input, sources.owner));
      },
      update(workspaceId: string, id: string, input: Partial<SourceInput>) {
        const before = sources.get(workspaceId, id);
        const { name, enabled, config } = input;
        const after = {
          ...before,
          ...rudderStackFields(input),
          ...defined({ name, enabled, config }),
          ...(input.settings !== undefined && {
            settings: { ...before.settings, ...input.settings },
          }),
          updatedAt: changeTime(before),
        };
        return put(withExternalId(after, input, sources.owner));
      },
      rotateWriteKey(workspaceId: string, id: string) {
        const before = sources.get(workspaceId, id);
        sources.forgetWriteKey(before.writeKey);
        return put({ ...before, writeKey: newWriteKey(), updatedAt: changeTime(before) });
      },
      /**
       * Removes a source and its connections. The connections can be restored for
       * `REMOVED_CONNECTION_SECONDS_MAX` seconds, the source cannot.
       */
      remove(workspaceId: string, id: string) {
        const source = sources.get(workspaceId, id);
        const ended = connections.ofSource(source.id);
        for (const connection of ended) connections.remove(connection);
        removedConnections.keep(ended);
        sources.remove(source);
        topology.record(ended.map(({ destinationId }) => destinationId));
      },
    }),
    ...readsOf(sources),
  };
}

/**
 * Returns the type of a source in its stored form. Every spelling of `http` is stored as the type
 * `http`, and a spelling such as `HTTP` is kept in `typeAs`. Other types are stored unchanged.
 */
function typeOf(type = "http"): Pick<Source, "type" | "typeAs"> {
  if (type.toLowerCase() !== "http") return { type };
  return { type: "http", ...(type !== "http" && { typeAs: type }) };
}

/**
 * Returns the fields that RudderStack's clients store with a source and that pixelmill does not
 * use.
 */
function rudderStackFields({ geoEnrichmentEnabled, transient }: Partial<SourceInput>) {
  return defined({ geoEnrichmentEnabled, transient });
}
