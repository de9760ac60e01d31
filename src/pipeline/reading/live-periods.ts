import type { Connection } from "../../catalog/model.ts";
import type { Positions } from "../../log/positions.ts";
import type { LaneRecord } from "../model/lane-record.ts";
import { latestStart } from "../model/routes.ts";

/**
 * The current live period (time in which it delivers) of each connection, as the log positions at
 * which this period begins. If a connection's new period begins before the read position of the
 * lane (the delivery to one destination), the lane goes back and reads the records in between, for
 * this connection only. Until it has read them, `record` returns the previous period.
 */
export class LivePeriods {
  /** Connection id → positions in the logs at which its current live period begins. */
  readonly #known: Map<string, Positions>;
  /**
   * Connection id → start of the previous live period; undefined if there was none. If the new
   * period began before the lane's read position, the lane (the delivery to one destination) goes
   * back and reads the records in between. Meanwhile, `record` returns the previous period's start,
   * so that a restart reads these records again.
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
   * Replaces the known connections by `connections` and returns the changes. `begun` has each
   * connection with a new live period (time in which it delivers), and in `known` the start of its
   * previous period; undefined if there was none. `ended` has the ids of the former connections
   * that `connections` does not contain.
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
