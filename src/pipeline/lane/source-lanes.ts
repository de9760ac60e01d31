import type { Connection } from "../../catalog/model.ts";
import type { LogSet } from "../reading/shared-reader.ts";

/**
 * Knows which lanes (one for each destination) a new record of a source must wake: those with a
 * connection that delivers the source's new events. A disabled destination has no such connection.
 */
export class SourceLanes {
  /** Source id → ids of the destinations whose lanes a new record of the source must wake. */
  readonly #bySource = new Map<string, Set<string>>();
  /**
   * Destination id → the destination's connections. Contains only destinations with an ended
   * connection that still delivers log records which this node does not see yet.
   */
  readonly #ending = new Map<string, readonly Connection[]>();

  constructor(private readonly logs: Pick<LogSet, "names" | "end">) {}

  /** Ids of the destinations whose lanes a new record of the source must wake. */
  of(sourceId: string): Iterable<string> {
    return this.#bySource.get(sourceId) ?? [];
  }

  /**
   * Replaces a destination's connections `before` by `connections`. If this returns true, the
   * caller must wake the destination's lane once: the last records of an ended connection may be
   * unread, and no later record wakes the lane.
   */
  set(id: string, connections: readonly Connection[], before: readonly Connection[]): boolean {
    const wasEnding = this.#ending.has(id);
    for (const { sourceId } of before) {
      const ids = this.#bySource.get(sourceId);
      ids?.delete(id);
      if (ids?.size === 0) this.#bySource.delete(sourceId);
    }
    const open = connections.filter((connection) => !this.#hasEnded(connection));
    for (const { sourceId } of open) {
      this.#bySource.getOrInsertComputed(sourceId, () => new Set()).add(id);
    }
    const isEnding = open.some(({ until }) => until !== undefined);
    if (isEnding) this.#ending.set(id, connections);
    else this.#ending.delete(id);
    return wasEnding && !isEnding;
  }

  /**
   * Returns the ids of destinations with ended connections, once this node sees all records that
   * the ended connections deliver. The destination's other connections do not matter. Each id is
   * returned only once for the same ended connections.
   */
  takeEnded(): string[] {
    return [...this.#ending].flatMap(([id, ending]) => (this.set(id, ending, ending) ? id : []));
  }

  /**
   * Whether the connection has ended and this node sees all records that the connection delivers.
   * For a log on the Kafka brokers, the end position in `until` can be ahead of the records that
   * this node sees.
   */
  #hasEnded({ until }: Connection): boolean {
    if (until === undefined) return false;
    return this.logs.names().every((log) => this.logs.end(log) >= (until[log] ?? 0));
  }
}
