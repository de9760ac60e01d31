import type { Connection } from "../../catalog/model.ts";
import type { Positions } from "../../log/positions.ts";
import type { LaneRecord } from "../model/lane-record.ts";
import { latestStart } from "../model/routes.ts";

/**
 * The current live period (time in which it delivers) of each connection, as the log positions at
 * which this period begins. When a new period begins before the read position of the lane (the
 * delivery to one destination), the lane first reads the records in between. Until it has read
 * them, `record` returns the connection's previous period.
 */
export class LivePeriods {
  /** Connection id → positions in the logs at which its current live period begins. */
  readonly #known: Map<string, Positions>;
  /**
   * Connection id → start of the previous live period. Has only connections whose new period began
   * before the lane's read position. While the lane (the delivery to one destination) reads the
   * older records, `record` returns this start, so that a restart reads them again.
   */
  readonly #before = new Map<string, Positions | undefined>();
  /**
   * Whether the older records of a new live period, before the lane's normal read position, are
   * still being read for the given connection.
   */
  readonly #isLate: (connectionId: string) => boolean;

  constructor(known: LaneRecord["known"], isLate: (connectionId: string) => boolean) {
    this.#known = new Map(Object.entries(known));
    this.#isLate = isLate;
  }

  /**
   * Applies the current connections and returns the changes. `begun` has the connections with a new
   * live period (time in which they deliver). `known` in its elements is the start of the
   * connection's previous period. `ended` has the ids of known connections that `connections` does
   * not contain.
   */
  update(connections: ReadonlyMap<string, Connection>) {
    const begun: { connection: Connection; known: Positions | undefined }[] = [];
    for (const [id, connection] of connections) {
      const known = this.#known.get(id);
      const start = latestStart(connection);
      if (Bun.deepEquals(known, start)) continue;
      if (start === undefined) {
        this.#known.delete(id);
        continue;
      }
      if (!this.#isLate(id)) this.#before.set(id, known);
      this.#known.set(id, start);
      begun.push({ connection, known });
    }
    const ended = [...this.#known.keys()].filter((id) => !connections.has(id));
    for (const id of ended) {
      this.#known.delete(id);
      this.#before.delete(id);
    }
    return { begun, ended };
  }

  record(): LaneRecord["known"] {
    const known: Record<string, Positions> = {};
    for (const [id, from] of this.#known) {
      const taken = this.#isLate(id) ? this.#before.get(id) : from;
      if (taken !== undefined) known[id] = taken;
    }
    return known;
  }
}
