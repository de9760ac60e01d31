import type { Catalog } from "../../catalog/catalog.ts";
import type { Connection, Source } from "../../catalog/model.ts";
import type { TimeSlicer } from "../../concurrency/time-slicer.ts";
import type { Definitions } from "../../destinations/rudder-server/definition.ts";
import type { Logger } from "../../observe/log.ts";
import {
  connectionsJson,
  destinationJson,
  type RoutedDestination,
  sourceJson,
} from "./resource-json.ts";

export interface RoutedResourcesParts {
  catalog: Pick<Catalog, "sources" | "destinations" | "routing" | "live">;
  definitions: Definitions;
  logger: Logger;
  /** Divides long reads into slices, between which the event loop does other work. */
  slicer: TimeSlicer;
}

/**
 * JSON of one source with its destinations (`source`), JSON of its connections, and a hash of both.
 */
export interface SourcePiece {
  source: Uint8Array<ArrayBuffer>;
  connections: string;
  hash: bigint;
}

const never = new AbortController().signal;

/**
 * Makes and caches the JSON of a workspace's sources, each with the destinations to which
 * rudder-server delivers. Changes of the catalog appear in the JSON only after a call of a method
 * `read…`.
 */
export class RoutedResources {
  #sources: ReadonlyMap<string, Source> = new Map();
  readonly #destinations = new Map<string, RoutedDestination>();
  /** Enabled connections by source id, then by destination id. */
  readonly #bySource = new Map<string, Map<string, Connection>>();
  readonly #pieces = new Map<string, SourcePiece>();

  constructor(
    private readonly parts: RoutedResourcesParts,
    private readonly workspaceId: string,
  ) {}

  /** Empties the cache, and reads all of the workspace's sources and destinations again. */
  async readAll(): Promise<void> {
    this.#destinations.clear();
    this.#bySource.clear();
    this.#pieces.clear();
    await this.#readSources();
    const { catalog, slicer } = this.parts;
    const destinations = catalog.destinations.each(this.workspaceId);
    await slicer.each(destinations, ({ id }) => this.#readDestination(id), never);
  }

  /**
   * Reads all sources again, and those destinations that have the given ids. Ignores ids of
   * destinations of other workspaces.
   */
  async readSome(destinationIds: Iterable<string>): Promise<void> {
    await this.#readSources();
    await this.parts.slicer.each(destinationIds, (id) => this.#readDestination(id), never);
  }

  /** Reads again which published transformation is connected to each destination. */
  async readLinks(): Promise<void> {
    const { catalog, slicer } = this.parts;
    const readLink = (routed: RoutedDestination) => {
      const link = catalog.routing.publishedLink(routed.destination.id);
      if (link?.id === routed.link?.id && link?.versionId === routed.link?.versionId) return;
      routed.link = link;
      this.#markChanged(routed);
    };
    await slicer.each([...this.#destinations.values()], readLink, never);
  }

  /**
   * Returns the JSON of all sources, in the catalog's order. Makes the JSON of a source only if the
   * source has changed since the last call.
   */
  async pieces(): Promise<SourcePiece[]> {
    const missing = [...this.#sources.values()].filter(({ id }) => !this.#pieces.has(id));
    await this.parts.slicer.each(missing, (source) => this.#makePiece(source), never);
    return [...this.#sources.keys()].map((id) => this.#pieces.get(id)!);
  }

  async #readSources(): Promise<void> {
    const { catalog, slicer } = this.parts;
    const sources = new Map<string, Source>();
    const add = (it: Source) => sources.set(it.id, it);
    await slicer.each(catalog.sources.each(this.workspaceId), add, never);
    const before = this.#sources;
    this.#sources = sources;
    for (const { id, updatedAt } of sources.values()) {
      if (before.get(id)?.updatedAt !== updatedAt) this.#pieces.delete(id);
    }
    for (const id of before.keys()) if (!this.#sources.has(id)) this.#pieces.delete(id);
  }

  #readDestination(id: string): void {
    const { catalog, definitions, logger } = this.parts;
    const before = this.#destinations.get(id);
    if (before !== undefined) this.#disconnect(before);
    this.#destinations.delete(id);
    const destination = catalog.live.destination(id);
    if (destination?.workspaceId !== this.workspaceId) return;
    if (destination.deliveredBy !== "rudder-server") return;
    const { type } = destination;
    const definition = definitions.destination(type);
    if (definition === undefined) {
      logger.warn(
        { destinationId: id, type },
        "destination type has no definition; left out of the answer to rudder-server",
      );
      return;
    }
    const connections = catalog.routing.connectionsOf(id).filter(({ enabled }) => enabled);
    const link = catalog.routing.publishedLink(id);
    const routed = { destination, definition, connections, link };
    this.#destinations.set(id, routed);
    for (const connection of connections) {
      const none = () => new Map<string, Connection>();
      this.#bySource.getOrInsertComputed(connection.sourceId, none).set(id, connection);
    }
    this.#markChanged(routed);
  }

  #disconnect(routed: RoutedDestination): void {
    for (const { sourceId } of routed.connections) {
      this.#bySource.get(sourceId)?.delete(routed.destination.id);
    }
    this.#markChanged(routed);
  }

  #markChanged({ connections }: RoutedDestination): void {
    for (const { sourceId } of connections) this.#pieces.delete(sourceId);
  }

  #makePiece(source: Source): void {
    const definition = this.parts.definitions.source(source.type);
    // Sorted, so that all nodes of a cluster make the same text.
    const connected = [...(this.#bySource.get(source.id) ?? [])].sort(([one], [other]) =>
      one < other ? -1 : 1,
    );
    const destinations = connected.map(([id]) =>
      destinationJson(this.#destinations.get(id)!, definition.type),
    );
    const json = Buffer.from(sourceJson(source, definition, destinations));
    const connections = connectionsJson(connected.map(([, connection]) => connection));
    const hash = BigInt(Bun.hash(connections, BigInt(Bun.hash(json))));
    this.#pieces.set(source.id, { source: json, connections, hash });
  }
}
