import type { Connection, Destination } from "../catalog/model.ts";
import type { DestinationKind } from "../destinations/destination.ts";
import type { DurableRange } from "../log/event-log.ts";
import { Lane } from "./lane/lane.ts";
import type { LaneContext } from "./lane/lane-context.ts";
import type { LaneGauges } from "./monitoring/lane-gauges.ts";

export interface LanesParts extends LaneContext {
  kinds: ReadonlyMap<string, DestinationKind>;
  /**
   * Whether nothing is to be delivered, and everything kept. Asked until the first time that the
   * answer is false.
   */
  held?(): boolean;
}

/** The lanes that the catalog calls for: one for every destination that is owed something. */
export class Lanes {
  readonly #parts: LanesParts;
  readonly #lanes = new Map<string, Lane>();
  /**
   * Destinations by the sources they are connected to, so that a pixel wakes the lanes of its
   * source alone.
   */
  #bySource = new Map<string, string[]>();
  /** Destinations without a connection that still have replays to send. */
  readonly #replaying = new Set<string>();
  /** The ends of lanes that are being forgotten, by destination. */
  readonly #ending = new Map<string, Promise<void>>();
  /** Destinations that are owed something and whose type this version does not know. */
  readonly #unknown = new Set<string>();
  /**
   * The topology epoch that the lanes were made from; undefined when the catalog could not be read.
   */
  #topology: number | undefined;
  #stopped = false;
  #held = true;

  constructor(parts: LanesParts) {
    this.#parts = parts;
    for (const id of parts.ledger.destinations()) {
      if (this.#hasReplays(id)) this.#replaying.add(id);
    }
    for (const job of parts.ledger.jobs.running()) {
      if (job.kind === "events") this.#replaying.add(job.destinationId);
    }
  }

  /** Takes up what changed in the catalog; cheap when nothing did. */
  refresh(): void {
    if (this.#stopped || this.#isHeld()) return;
    try {
      const topology = this.#parts.live.topology();
      if (topology === this.#topology) return;
      this.#rebuild();
      this.#topology = topology;
    } catch (error) {
      // The lanes go on as they are until the next call.
      this.#topology = undefined;
      this.#parts.logger.error({ err: error }, "The catalog cannot be read");
    }
  }

  /**
   * There is more to read. Lanes are brought up to date first: a lane that comes too late would
   * have to read much again.
   */
  wake(news?: DurableRange): void {
    this.refresh();
    if (news === undefined) {
      for (const lane of this.#lanes.values()) lane.wake();
      return;
    }
    for (const source of news.sources) {
      for (const id of this.#bySource.get(source) ?? []) this.#lanes.get(id)?.wake();
    }
    // Only after the woken lanes are told: an idle lane takes everything before `news.end` as
    // passed.
    this.#parts.logs.pass(news.log, news.end);
  }

  /** Replays to these destinations began, or ended. */
  replay(destinationIds: readonly string[]): void {
    for (const id of new Set(destinationIds)) {
      this.#replaying.add(id);
      this.#lanes.get(id)?.wake(true);
    }
    if (!this.#held && destinationIds.some((id) => !this.#lanes.has(id))) this.#rebuild();
  }

  /**
   * The oldest record that any lane would need after a restart; undefined when there are no lanes.
   */
  durableLow(log: string): number | undefined {
    // Somebody is owed something, and nobody knows from where on.
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

  /** Undefined for a destination that nothing is owed to. */
  gaugesOf(destinationId: string): LaneGauges | undefined {
    return this.#lanes.get(destinationId)?.gauges;
  }

  abort(): void {
    for (const lane of this.#lanes.values()) lane.abort();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all([...this.#lanes.values()].map((lane) => lane.stop()));
    await Promise.all(this.#ending.values());
  }

  #hasReplays(destinationId: string): boolean {
    const { ledger } = this.#parts;
    if (ledger.jobs.runningOf(destinationId).length > 0) return true;
    return ledger.replays(destinationId, new Set(), 1).length > 0;
  }

  #isHeld(): boolean {
    if (!this.#held) return false;
    this.#held = this.#parts.held?.() ?? false;
    return this.#held;
  }

  #rebuild(): void {
    const wanted = this.#wanted();
    for (const [id, lane] of this.#lanes) if (!wanted.has(id)) this.#end(id, lane);
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
      if (wanted.has(id) || this.#lanes.has(id) || this.#ending.has(id)) continue;
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
    const kind = this.#parts.kinds.get(destination.type);
    if (kind === undefined) {
      if (!this.#unknown.has(destination.id)) this.#tellUnknown(destination);
      this.#unknown.add(destination.id);
      return;
    }
    this.#lanes.set(destination.id, new Lane(this.#parts, kind, destination, connections));
  }

  #tellUnknown({ id, type }: Destination): void {
    const problem = "This version does not know the type of a destination; the event log grows";
    this.#parts.logger.error({ destinationId: id, type }, problem);
  }

  /**
   * Ends the lane of a destination that is gone, or has no connection any more: what it is owed is
   * discarded.
   */
  #end(id: string, lane: Lane): void {
    this.#lanes.delete(id);
    this.#forget(id, lane.remove());
  }

  #forget(id: string, discarded: number | Promise<number>): void {
    const ending = this.#forgetAfter(id, discarded)
      .catch((error) => {
        const about = { destinationId: id, err: error };
        this.#parts.logger.error(about, "A lane cannot be removed");
      })
      .finally(() => this.#ending.delete(id));
    this.#ending.set(id, ending);
  }

  async #forgetAfter(id: string, discarded: number | Promise<number>): Promise<void> {
    const { ledger, live, logger } = this.#parts;
    const events = await discarded;
    // The destination was connected again meanwhile, and its new lane goes on with the cursor.
    if (this.#lanes.has(id)) return;
    const letters = await ledger.remove(id, live.destination(id) === undefined);
    const about = { destinationId: id, events, letters };
    logger.info(about, "A lane ended; what it owed is discarded");
  }
}
