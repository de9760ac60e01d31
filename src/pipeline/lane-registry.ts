import { assert } from "../assert.ts";
import type { Connection, Destination } from "../catalog/model.ts";
import type { DestinationKind } from "../destinations/destination.ts";
import type { DurableRange } from "../log/event-log.ts";
import { Lane } from "./lane/lane.ts";
import type { LaneContext } from "./lane/lane-context.ts";
import type { LaneGauges } from "./monitoring/lane-gauges.ts";

export interface LaneRegistryParts extends Omit<LaneContext, "refresh"> {
  kinds: ReadonlyMap<string, DestinationKind>;
  /**
   * Whether deliveries are on hold: while true, no lane runs, and all events stay in the logs. Not
   * called again after it has returned false. Absent: not on hold.
   */
  isOnHold?(): boolean;
}

/**
 * Starts and stops the lanes of one partition. A destination has a lane while it has a connection
 * or replays.
 */
export class LaneRegistry {
  readonly #parts: LaneRegistryParts;
  readonly #context: LaneContext;
  readonly #lanes = new Map<string, Lane>();
  /**
   * Source id → ids of the destinations connected to it. Shows which lanes a new record must wake.
   */
  #bySource = new Map<string, string[]>();
  /**
   * Ids of destinations that may have replays to send. These need a lane even without a connection.
   */
  readonly #replaying = new Set<string>();
  /** Destination id → removal of its lane that is still running. */
  readonly #removals = new Map<string, Promise<void>>();
  /** Ids of connected destinations whose type this version does not know. They get no lane. */
  readonly #unknown = new Set<string>();
  /**
   * Version of the catalog's connections that the lanes have applied. Undefined before the catalog
   * is read, and when it could not be read.
   */
  #topology: number | undefined;
  #isStopped = false;
  #isOnHold = true;

  constructor(parts: LaneRegistryParts) {
    this.#parts = parts;
    this.#context = { ...parts, refresh: () => this.refresh() };
    for (const id of parts.ledger.destinations()) {
      if (this.#hasReplays(id)) this.#replaying.add(id);
    }
    for (const job of parts.ledger.jobs.running()) {
      if (job.kind === "events") this.#replaying.add(job.destinationId);
    }
  }

  /**
   * Starts, updates and stops lanes after changes of the catalog. Cheap when nothing has changed.
   */
  refresh(): void {
    if (this.#isStopped || this.#checkHold()) return;
    try {
      const topology = this.#parts.live.topology();
      if (topology === this.#topology) return;
      this.#rebuild();
      this.#topology = topology;
    } catch (error) {
      // The lanes go on unchanged until the next call.
      this.#topology = undefined;
      this.#parts.logger.error({ err: error }, "cannot read the catalog");
    }
  }

  /**
   * Wakes the lanes of the sources in `range`, or all lanes when it is absent. Reads the catalog
   * first, because a lane that starts too late would have to read many records again.
   */
  wake(range?: DurableRange): void {
    this.refresh();
    if (range === undefined) {
      for (const lane of this.#lanes.values()) lane.wake();
      return;
    }
    for (const source of range.sources) {
      for (const id of this.#bySource.get(source) ?? []) this.#lanes.get(id)?.wake();
    }
    // Only after the lanes are awake: an idle lane skips all records before the announced end.
    this.#parts.logs.setAnnouncedEnd(range.log, range.end);
  }

  /** Call when replays to these destinations began or ended. */
  refreshReplays(destinationIds: readonly string[]): void {
    for (const id of new Set(destinationIds)) {
      this.#replaying.add(id);
      this.#lanes.get(id)?.refreshReplays();
    }
    if (!this.#isOnHold && destinationIds.some((id) => !this.#lanes.has(id))) this.#rebuild();
  }

  /**
   * Lowest sequence number that some lane would read from the log after a restart; the log may be
   * trimmed below it. Undefined when there are no lanes. 0 while the position of some lane is
   * unknown.
   */
  durableLow(log: string): number | undefined {
    // The positions of some destination are not known.
    if (this.#topology === undefined || this.#unknown.size > 0) return 0;
    const lows = [...this.#lanes.values()].map((lane) => lane.durableLow(log) ?? 0);
    return lows.length === 0 ? undefined : Math.min(...lows);
  }

  checkpoint(): void {
    for (const lane of this.#lanes.values()) lane.checkpoint();
  }

  *gauges(): Generator<LaneGauges> {
    for (const lane of this.#lanes.values()) yield lane.gauges;
  }

  /** The gauges of a destination's lane; undefined when it has no lane. */
  gaugesOf(destinationId: string): LaneGauges | undefined {
    return this.#lanes.get(destinationId)?.gauges;
  }

  abort(): void {
    for (const lane of this.#lanes.values()) lane.abort();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all([...this.#lanes.values()].map((lane) => lane.stop()));
    await Promise.all(this.#removals.values());
  }

  #hasReplays(destinationId: string): boolean {
    const { ledger } = this.#parts;
    if (ledger.jobs.runningOf(destinationId).length > 0) return true;
    return ledger.waitingLetters(destinationId, new Set(), 1).length > 0;
  }

  #checkHold(): boolean {
    if (!this.#isOnHold) return false;
    this.#isOnHold = this.#parts.isOnHold?.() ?? false;
    return this.#isOnHold;
  }

  #rebuild(): void {
    const wanted = this.#wanted();
    for (const [id, lane] of this.#lanes) if (!wanted.has(id)) this.#remove(id, lane);
    for (const id of this.#unknown) if (!wanted.has(id)) this.#unknown.delete(id);
    this.#bySource = new Map();
    for (const [id, { destination, connections }] of wanted) {
      for (const { sourceId } of connections) {
        const ids = this.#bySource.get(sourceId) ?? [];
        this.#bySource.set(sourceId, ids);
        ids.push(id);
      }
      const lane = this.#lanes.get(id);
      if (lane !== undefined) lane.update(destination, connections);
      else this.#start(destination, connections);
    }
    for (const id of this.#parts.ledger.destinations()) {
      if (wanted.has(id) || this.#lanes.has(id) || this.#removals.has(id)) continue;
      const isGone = this.#parts.live.destination(id) === undefined;
      if (isGone || this.#parts.ledger.lane(id) !== undefined) this.#forget(id, 0);
    }
  }

  #wanted() {
    const { live } = this.#parts;
    const wanted = new Map<string, { destination: Destination; connections: Connection[] }>();
    for (const lane of live.lanes()) wanted.set(lane.destination.id, lane);
    for (const id of this.#replaying) {
      const destination = live.destination(id);
      if (destination === undefined || !this.#hasReplays(id)) this.#replaying.delete(id);
      else if (!wanted.has(id)) wanted.set(id, { destination, connections: [] });
    }
    return wanted;
  }

  #start(destination: Destination, connections: readonly Connection[]): void {
    const { id, type } = destination;
    const kind = this.#parts.kinds.get(type);
    if (kind === undefined) {
      if (!this.#unknown.has(id)) {
        const message = "unknown destination type; the event log grows until it is deleted";
        this.#parts.logger.error({ destinationId: id, type }, message);
      }
      this.#unknown.add(id);
      return;
    }
    assert(!this.#lanes.has(id), "A destination has one lane in a partition");
    this.#lanes.set(id, new Lane(this.#context, kind, destination, connections));
  }

  /** Stops and removes the lane of a destination that was deleted or disconnected. */
  #remove(id: string, lane: Lane): void {
    this.#lanes.delete(id);
    this.#forget(id, lane.remove());
  }

  #forget(id: string, discarded: number | Promise<number>): void {
    const removal = this.#forgetAfter(id, discarded)
      .catch((error) => {
        this.#parts.logger.error({ destinationId: id, err: error }, "cannot remove a lane");
      })
      .finally(() => this.#removals.delete(id));
    this.#removals.set(id, removal);
  }

  async #forgetAfter(id: string, discarded: number | Promise<number>): Promise<void> {
    const { ledger, live, logger } = this.#parts;
    const events = await discarded;
    // The destination was connected again meanwhile, and its new lane goes on with the cursor.
    if (this.#lanes.has(id)) return;
    const letters = await ledger.remove(id, live.destination(id) === undefined);
    logger.info({ destinationId: id, events, letters }, "lane removed; its events are discarded");
  }
}
