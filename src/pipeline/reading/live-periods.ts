import type { Connection } from "../../catalog/model.ts";
import type { Positions } from "../../log/positions.ts";
import type { LaneRecord } from "../model/lane-record.ts";
import { latestStart } from "../model/routes.ts";

/**
 * The current live period of each connection: the positions in the logs from which the connection
 * delivers. A new live period may begin before the lane's read position. The lane then reads older
 * records first, and `record` returns the new period only after it has read them.
 */
export class LivePeriods {
  /** Connection id → positions in the logs at which its current live period begins. */
  readonly #known: Map<string, Positions>;
  /**
   * Connection id → start of its previous live period, for each connection whose new live period
   * began before the lane's read position. `record` returns this start until the lane has read the
   * older records. A restart in the meantime therefore reads them again.
   */
  readonly #before = new Map<string, Positions | undefined>();
  /** Whether the lane still reads records before its read position, for the given connection. */
  readonly #isLate: (connectionId: string) => boolean;

  constructor(known: LaneRecord["known"], isLate: (connectionId: string) => boolean) {
    this.#known = new Map(Object.entries(known));
    this.#isLate = isLate;
  }

  /**
   * Applies the current connections. In the result, `begun` has the connections with a new live
   * period (time in which they deliver), each with the start of its previous period as `known`;
   * `ended` has the ids of the connections that no longer exist.
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
