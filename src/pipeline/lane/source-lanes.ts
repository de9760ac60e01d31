import type { Connection } from "../../catalog/model.ts";
import type { LogSet } from "../reading/shared-reader.ts";

/**
 * Knows which lanes (one for each destination) a new record of a source must wake: those with a
 * connection that delivers the source's new events. A disabled destination thus costs nothing for
 * each event.
 */
export class SourceLanes {
  readonly #logs: Pick<LogSet, "names" | "end">;
  /** Source id → ids of the destinations whose lanes a new record of the source must wake. */
  readonly #bySource = new Map<string, Set<string>>();
  /**
   * Destination id → all connections of the destination. Has only destinations with an ended
   * connection whose last record this node has not seen yet.
   */
  readonly #ending = new Map<string, readonly Connection[]>();

  constructor(logs: Pick<LogSet, "names" | "end">) {
    this.#logs = logs;
  }

  /** Ids of the destinations whose lanes a new record of the source must wake. */
  of(sourceId: string): Iterable<string> {
    return this.#bySource.get(sourceId) ?? [];
  }

  /**
   * Replaces the connections of a destination; `before` has its previous ones. Returns true if the
   * destination had an ended connection whose last record this node had not seen, and has no such
   * connection after the call. The caller must then wake the lane once more: later records do not
   * wake it, and it possibly has not yet read the last record of the ended connection.
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
   * Returns the ids of destinations with ended connections whose last records this node has seen
   * now. Each such destination is returned by one call only.
   */
  takeEnded(): string[] {
    return [...this.#ending].flatMap(([id, ending]) => (this.set(id, ending, ending) ? id : []));
  }

  /**
   * Whether this node sees all records that the connection delivers. In a log that the Kafka
   * brokers hold, the end of a connection can be ahead of what this node sees.
   */
  #hasEnded({ until }: Connection): boolean {
    if (until === undefined) return false;
    return this.#logs.names().every((log) => this.#logs.end(log) >= (until[log] ?? 0));
  }
}
