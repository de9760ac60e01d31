import type { PublishedLink } from "../../catalog/management/routing.ts";
import type { Connection, Destination, Source } from "../../catalog/model.ts";
import { configForSource } from "../../destinations/rudder-server/config-for-source.ts";
import type {
  DestinationDefinition,
  SourceDefinition,
} from "../../destinations/rudder-server/definition.ts";
import { dataPlaneLanguage } from "../../publishing/data-plane-code.ts";
import { isoTime } from "../schema/common.ts";

/** This file writes sources and destinations as the JSON that rudder-server reads. */

/**
 * A destination to which rudder-server delivers, with the data for making its JSON and the JSON of
 * its connections. `definition` is RudderStack's description of the destination's type.
 */
export interface RoutedDestination {
  destination: Destination;
  definition: DestinationDefinition;
  connections: readonly Connection[];
  /** Published transformation that is connected to the destination. Undefined if there is none. */
  link: PublishedLink | undefined;
}

/**
 * JSON of each destination type's definition. Cached, because thousands of destinations may have
 * the same type.
 */
const definitionTexts = new WeakMap<DestinationDefinition, string>();

/**
 * Returns the JSON of a destination, for the list of destinations in a source's JSON. `config` in
 * the JSON has only the settings that apply to sources of the type `sourceType`.
 */
export function destinationJson(
  { destination, definition, link }: RoutedDestination,
  sourceType: string,
): string {
  const { id, workspaceId, name, enabled, config, createdAt, updatedAt } = destination;
  const own = JSON.stringify({
    id,
    name,
    enabled,
    isProcessorEnabled: true,
    isConnectionEnabled: true,
    workspaceId,
    // rudder-server caches code by revision, so each destination gets its own revision id.
    revisionId: `${id}-${updatedAt}`,
    config: configForSource(definition, config, sourceType),
    secretConfig: {},
    transformations: link === undefined ? [] : [linkJson(link)],
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
    deleted: false,
  });
  return `${own.slice(0, -1)},"destinationDefinition":${definitionJson(definition)}}`;
}

/**
 * Returns the JSON of a transformation. It contains the transformation's language, by which
 * rudder-server selects a transformer.
 */
function linkJson({ id, versionId, language }: PublishedLink): object {
  return { id, versionId, language: dataPlaneLanguage(language), config: {} };
}

function definitionJson(definition: DestinationDefinition): string {
  return definitionTexts.getOrInsertComputed(
    definition,
    ({ name, displayName, category, config }) =>
      JSON.stringify({ id: name, name, displayName, category, config }),
  );
}

/**
 * Returns the JSON of a source. `destinations` has the JSON of each destination that the source is
 * connected to.
 */
export function sourceJson(
  source: Source,
  { name, type, category }: SourceDefinition,
  destinations: readonly string[],
): string {
  const { id, workspaceId, writeKey, enabled, config, createdAt, updatedAt } = source;
  const { transient, geoEnrichmentEnabled } = source;
  const own = JSON.stringify({
    id,
    name: source.name,
    writeKey,
    enabled,
    workspaceId,
    config,
    sourceDefinition: { id: name, name, displayName: name, type, category },
    transient,
    ...(geoEnrichmentEnabled !== undefined && { geoEnrichment: { enabled: geoEnrichmentEnabled } }),
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
    deleted: false,
  });
  return `${own.slice(0, -1)},"destinations":[${destinations.join(",")}]}`;
}

/**
 * Returns the inside of the JSON object `connections`: one member for each connection, with its id
 * as the key. The braces are not included.
 */
export function connectionsJson(connections: readonly Connection[]): string {
  return connections
    .map(({ id, sourceId, destinationId }) => {
      const value = { sourceId, destinationId, enabled: true, processorEnabled: true, config: {} };
      return `${JSON.stringify(id)}:${JSON.stringify(value)}`;
    })
    .join(",");
}
