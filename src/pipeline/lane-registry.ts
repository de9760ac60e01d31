import { assert } from "../assert.ts";
import type { Connection, Destination } from "../catalog/model.ts";
import type { TimeSlicer } from "../concurrency/time-slicer.ts";
import type { DestinationKind } from "../destinations/destination.ts";
import type { DurableRange } from "../log/event-log.ts";
import { Announcer } from "./lane/announcer.ts";
import { Lane } from "./lane/lane.ts";
import type { LaneContext } from "./lane/lane-context.ts";
import { LanesBehind } from "./lane/lanes-behind.ts";
import { roundRobin } from "./lane/round-robin.ts";
import { SourceLanes } from "./lane/source-lanes.ts";
import { UpdateQueue } from "./lane/update-queue.ts";
import { WakeQueue } from "./lane/wake-queue.ts";
import { LaneRemovals, type LaneRemovalsParts } from "./lane-removals.ts";
import { FAULT_PAUSE_MS } from "./limits.ts";
import type { LaneGauges } from "./monitoring/lane-gauges.ts";

export interface LaneRegistryParts extends Omit<LaneContext, "refresh">, LaneRemovalsParts {
  kinds: ReadonlyMap<string, DestinationKind>;
  /**
   * Updates many lanes in short slices of time, so that other work runs in between. All partitions
   * share this object.
   */
  laneSlices: TimeSlicer;
  /**
   * Whether deliveries are on hold, so that no lane starts. It is called only until it returns
   * false. If absent, deliveries are not on hold.
   */
  isOnHold?(): boolean;
}

type WantedLane = ReturnType<LaneRegistryParts["live"]["lane"]>;

/** Maximum number of lanes that `continueCheckpoint` checks between two calls of `checkpoint`. */
const CHECKPOINTS_MAX = 1_000;
/**
 * Maximum number of lanes that one call of `checkpoint`, `continueCheckpoint` or `restSome`
 * handles. Each lane takes up to 50 µs.
 */
const CHECKS_AT_ONCE_MAX = 100;

/**
 * Starts and stops the lanes of one partition. A lane delivers the events of one destination, and
 * exists while the destination has a connection or a replay.
 */
export class LaneRegistry {
  readonly #context: LaneContext;
  readonly #lanes = new Map<string, Lane>();
  readonly #sources: SourceLanes;
  /** Ids of destinations that may have events to replay. */
  readonly #replaying = new Set<string>();
  /** Ids of destinations whose replays have changed, until their lanes have applied the change. */
  readonly #replaysChanged = new Set<string>();
  readonly #wakes = new WakeQueue();
  readonly #behind: LanesBehind<Lane>;
  readonly #announcer: Announcer;
  readonly #updates: UpdateQueue;
  /**
   * Destination id → destination and connections, as `#queueUpdates` read them from the catalog.
   * The next update of the lane uses and removes the entry. A change of the destination also
   * removes it.
   */
  readonly #listed = new Map<string, NonNullable<WantedLane>>();
  readonly #removals: LaneRemovals;
  /** Returns the next lanes that `checkpoint` handles. Takes turns among all lanes. */
  readonly #nextLanes = roundRobin(this.#lanes);
  /** Returns the next lanes that `continueCheckpoint` checks. Takes turns among all lanes. */
  readonly #nextHolding = roundRobin(this.#lanes);
  readonly #nextToRest = roundRobin(this.#lanes);
  #checkpointsLeft = 0;
  /** Log → sequence number up to which it may be trimmed if no lane needs the earlier records. */
  #trimEnds: ReadonlyMap<string, number> = new Map();
  /** Ids of connected destinations of a type that this version does not know. They get no lane. */
  readonly #unknown = new Set<string>();
  /** Version of the catalog's connections that the lanes use; undefined until it has been read. */
  #topology: number | undefined;
  /** After a failed read of the catalog, the time by `clock.elapsed()` of the next attempt. */
  #retryAt = 0;
  #isStopped = false;
  #isOnHold = true;

  constructor(private readonly parts: LaneRegistryParts) {
    this.#context = { ...parts, refresh: () => this.refresh() };
    this.#updates = new UpdateQueue(
      parts.laneSlices,
      (id) => this.#updateOne(id),
      (error, id) => this.#logFailure(error, id),
    );
    this.#removals = new LaneRemovals(parts, (id) => this.#keep(id));
    this.#sources = new SourceLanes(parts.logs);
    this.#behind = new LanesBehind(parts.logs, (lanes) => this.#wakes.wake(lanes));
    const wake = (ids: string[]) =>
      this.#wakes.wake(ids.flatMap((id) => this.#lanes.get(id) ?? []));
    this.#announcer = new Announcer({ ...parts, sources: this.#sources, wake });
    for (const id of parts.ledger.requeued.destinations()) this.#replaying.add(id);
    for (const job of parts.ledger.jobs.running()) {
      if (job.kind === "events") this.#replaying.add(job.destinationId);
    }
  }

  /** Starts, updates and stops the lanes of changed destinations. Cheap when none has changed. */
  refresh(): void {
    this.#isOnHold &&= this.parts.isOnHold?.() ?? false;
    if (this.#isStopped || this.#isOnHold) return;
    const { live, clock } = this.parts;
    if (clock.elapsed() < this.#retryAt) return;
    try {
      const topology = live.topology();
      if (topology === this.#topology) return;
      const changed = this.#topology === undefined ? undefined : live.changedSince(this.#topology);
      this.#topology = topology;
      if (changed === undefined) this.#queueUpdates();
      else this.#updateSome(changed);
    } catch (error) {
      this.#topology = undefined;
      this.#retryAt = clock.elapsed() + FAULT_PAUSE_MS;
      this.#logFailure(error);
    }
  }

  #logFailure(error: unknown, destinationId?: string): void {
    this.parts.logger.error({ err: error, destinationId }, "cannot start or update deliveries");
  }

  /**
   * Wakes the lanes that must read the new records in `range`. Without `range`, wakes the lanes
   * that must read new records in any log. Applies changes of the catalog first.
   */
  wake(range?: DurableRange): void {
    this.refresh();
    this.#announcer.announce(range);
  }

  /** Applies the start or end of replays to the lanes of the destinations in `destinationIds`. */
  refreshReplays(destinationIds: readonly string[]): void {
    for (const id of destinationIds) {
      this.#replaying.add(id);
      this.#replaysChanged.add(id);
    }
    if (!this.#isStopped && !this.#isOnHold) this.#updates.updateNow(new Set(destinationIds));
  }

  /**
   * Returns the lowest sequence number of a log at which a lane resumes reading after a restart.
   * The log may be trimmed below it. 0 while a lane's position is unknown; undefined without lanes.
   */
  durableLow(log: string): number | undefined {
    if (this.#topology === undefined || this.#unknown.size > 0) return 0;
    if (!this.#updates.isEmpty || !this.#removals.isEmpty) return 0;
    let low: number | undefined;
    for (const lane of this.#lanes.values()) {
      low = Math.min(low ?? Number.POSITIVE_INFINITY, lane.durableLow(log) ?? 0);
    }
    return low;
  }

  /**
   * Writes the read positions of the next `CHECKS_AT_ONCE_MAX` lanes, so that a restart repeats few
   * events. `trimEnds` maps each log to the sequence number up to which it may be trimmed if no
   * lane needs the records.
   */
  checkpoint(trimEnds: ReadonlyMap<string, number>): void {
    this.#trimEnds = trimEnds;
    for (const lane of this.#nextLanes(CHECKS_AT_ONCE_MAX)) lane.checkpoint();
    this.#checkpointsLeft = Math.min(CHECKPOINTS_MAX, this.#lanes.size);
  }

  /**
   * Checks the next `CHECKS_AT_ONCE_MAX` lanes. If the stored read position of a lane prevents the
   * trimming of a log up to `trimEnds` (see `checkpoint`), writes the lane's read position.
   */
  continueCheckpoint(): void {
    const count = Math.min(CHECKS_AT_ONCE_MAX, this.#checkpointsLeft);
    this.#checkpointsLeft -= count;
    for (const lane of this.#nextHolding(count)) {
      const holdsBack = ([log, end]: [string, number]) => (lane.durableLow(log) ?? 0) < end;
      if (this.#trimEnds.entries().some(holdsBack)) lane.checkpoint();
    }
  }

  /**
   * Checks the next `CHECKS_AT_ONCE_MAX` lanes and frees the memory of those that are idle. Each
   * call continues where the last one ended.
   */
  restSome(): void {
    for (const lane of this.#nextToRest(CHECKS_AT_ONCE_MAX)) lane.rest();
  }

  *gauges(): Generator<LaneGauges> {
    for (const lane of this.#lanes.values()) yield lane.gauges;
  }

  /** Current figures of the delivery to a destination; undefined when it has no lane. */
  gaugesOf(destinationId: string): LaneGauges | undefined {
    return this.#lanes.get(destinationId)?.gauges;
  }

  abort(): void {
    for (const lane of this.#lanes.values()) lane.abort();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#updates.clear();
    const reading = [this.#behind.stop(), this.#announcer.stop()];
    await Promise.all([...reading, ...this.#lanes.values().map((lane) => lane.stop())]);
    await this.#removals.stop();
  }

  /** Queues updates for all destinations' lanes. The cost grows with the number of destinations. */
  #queueUpdates(): void {
    const { live, ledger } = this.parts;
    this.#listed.clear();
    for (const lane of live.lanes()) this.#listed.set(lane.destination.id, lane);
    const known = ledger.destinations().union(this.#lanes).union(this.#unknown);
    this.#updates.add(known.union(this.#replaying).union(this.#listed));
  }

  /** Updates the lanes of the destinations in `ids` and of those that may have events to replay. */
  #updateSome(ids: ReadonlySet<string>): void {
    for (const id of ids) this.#listed.delete(id);
    this.#updates.updateNow(ids.union(this.#replaying));
  }

  #updateOne(id: string): void {
    const listed = this.#listed.get(id);
    this.#listed.delete(id);
    if (this.#replaysChanged.has(id)) this.#lanes.get(id)?.refreshReplays();
    this.#replaysChanged.delete(id);
    this.#update(id, listed ?? this.parts.live.lane(id) ?? this.#replayLane(id));
  }

  #replayLane(id: string): WantedLane {
    if (!this.#replaying.has(id)) return undefined;
    const { live, ledger } = this.parts;
    const destination = live.destination(id);
    const hasReplays = () =>
      ledger.jobs.runningOf(id).length > 0 || ledger.requeued.hasAtLeast(id, 1);
    if (destination !== undefined && hasReplays()) return { destination, connections: [] };
    this.#replaying.delete(id);
    return undefined;
  }

  /** Starts or updates the lane of a destination. Removes the lane if `wanted` is undefined. */
  #update(id: string, wanted: WantedLane): void {
    if (wanted !== undefined && this.#isUnknown(wanted.destination)) return;
    const lane = this.#lanes.get(id);
    const connections = wanted?.connections ?? [];
    if (this.#sources.set(id, connections, lane?.connections ?? [])) lane?.wake();
    if (wanted !== undefined) {
      if (lane !== undefined) lane.update(wanted.destination, connections);
      else this.#start(wanted.destination, connections);
      this.#behind.add(this.#lanes.get(id));
      return;
    }
    this.#unknown.delete(id);
    this.#lanes.delete(id);
    const isLeft = lane !== undefined || (!this.#removals.isRunning(id) && this.#isLeftOver(id));
    if (isLeft) this.#removals.begin(id, lane?.remove() ?? Promise.resolve(0));
  }

  /**
   * Whether the ledger has something to remove for a destination that has no lane: the stored
   * progress of an earlier lane, or the dead or requeued letters of a deleted destination.
   */
  #isLeftOver(id: string): boolean {
    const { ledger, live } = this.parts;
    if (ledger.lane(id) !== undefined) return true;
    if (live.destination(id) !== undefined) return false;
    return ledger.requeued.hasAtLeast(id, 1) || ledger.letters.hasLetters(id);
  }

  /** Whether this version does not know the destination's type. Logs each such destination once. */
  #isUnknown({ id, type }: Destination): boolean {
    if (this.parts.kinds.has(type)) return false;
    if (!this.#unknown.has(id)) {
      const message = "unknown destination type; the event log grows until it is deleted";
      this.parts.logger.error({ destinationId: id, type }, message);
    }
    this.#unknown.add(id);
    return true;
  }

  #start(destination: Destination, connections: readonly Connection[]): void {
    const { id, type } = destination;
    const kind = this.parts.kinds.get(type)!;
    assert(!this.#lanes.has(id), "A destination has one lane in a partition");
    const mayReplay = this.#replaying.has(id);
    this.#lanes.set(id, new Lane(this.#context, kind, destination, connections, mayReplay));
  }

  /** If the destination has a connection or a replay, starts or wakes its lane and returns true. */
  #keep(id: string): boolean {
    this.#replaying.add(id);
    if ((this.parts.live.lane(id) ?? this.#replayLane(id)) === undefined) return false;
    this.refreshReplays([id]);
    return true;
  }
}
