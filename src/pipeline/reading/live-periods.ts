import type { Connection } from "../../catalog/model.ts";
import type { Positions } from "../../log/positions.ts";
import type { LaneRecord } from "../model/lane-record.ts";

/** The live periods (when connections deliver), as far as the lane has read from their starts. */
export class LivePeriods {
  /** Connection id → positions at which its current live period (time of delivering) begins. */
  readonly #known: Map<string, Positions>;
  /**
   * Connections whose new live period is still being read: id → their value in `#known` before it.
   * Stored instead of the new value, so that reading resumes after a restart.
   */
  readonly #before = new Map<string, Positions>();
  /** Whether older records are still read for a connection. */
  readonly #isLate: (connectionId: string) => boolean;

  constructor(known: LaneRecord["known"], isLate: (connectionId: string) => boolean) {
    this.#known = new Map(Object.entries(known));
    this.#isLate = isLate;
  }

  /**
   * Applies the current connections. Returns those that have a new live period, with the start of
   * their last one, and the ids of those that have ended.
   */
  update(connections: ReadonlyMap<string, Connection>) {
    const begun: { connection: Connection; known: Positions | undefined }[] = [];
    for (const [id, connection] of connections) {
      const known = this.#known.get(id);
      if (Bun.deepEquals(known, connection.from)) continue;
      if (known !== undefined && !this.#isLate(id)) this.#before.set(id, known);
      this.#known.set(id, connection.from);
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
