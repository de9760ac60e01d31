import type { Connection } from "../../catalog/model.ts";
import type { Positions } from "../../log/positions.ts";
import type { LaneRecord } from "../model/lane-record.ts";
import { latestStart } from "../model/routes.ts";

/**
 * The current live period (time in which it delivers) of each connection, as log positions. While
 * older records are still being read for a new period, `record` returns the previous period, so
 * that a restart reads these records again.
 */
export class LivePeriods {
  /** Connection id → positions in the logs at which its current live period begins. */
  readonly #known: Map<string, Positions>;
  /**
   * Connection id → start of the previous live period (time of delivery); undefined if there was
   * none. `record` returns it until the new period's older records were read, so that a restart
   * reads these records again.
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
   * Replaces the known connections and returns the changes.
   * - `begun`: connections with a new live period (time in which they deliver). `known` is the
   *   start of the previous period; undefined if there was none.
   * - `ended`: ids of former connections that are not in `connections`.
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
