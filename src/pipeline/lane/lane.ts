import { InvariantError } from "../../assert.ts";
import type { Connection, Destination } from "../../catalog/model.ts";
import type { DestinationKind } from "../../destinations/destination.ts";
import { ApiError, messageOf } from "../../errors.ts";
import type { DestinationPast } from "../delivering/destination-client.ts";
import type { LaneChange, LaneCommitSource } from "../ledger/ledger.ts";
import { FAULT_PAUSE_MS } from "../limits.ts";
import { type DeliveryIntent, isFailing, isStored } from "../model/lane-record.ts";
import type { FailureState, LaneGauges, LaneLabels } from "../monitoring/lane-gauges.ts";
import { LaneReader } from "../reading/lane-reader.ts";
import { RestingReader } from "../reading/resting-reader.ts";
import { ActiveLane } from "./active-lane.ts";
import type { LaneContext } from "./lane-context.ts";
import { LaneRoutes } from "./lane-routes.ts";

/**
 * Delivers one destination's events: reads the logs, runs user code, sends, stores progress. A
 * server may have thousands of lanes; most of them are idle, with only read positions in memory.
 */
export class Lane implements LaneCommitSource {
  readonly #labels: LaneLabels;
  readonly #routes: LaneRoutes;
  /** Reads the logs. While the lane rests, it is a `RestingReader`, which needs less memory. */
  #reader: LaneReader | RestingReader;
  /** Delivers the destination's events; undefined while there is nothing to read or to replay. */
  #active: ActiveLane | undefined;
  #isStopped = false;
  #isDiscarded = false;
  /** The broken invariant (a bug) that has stopped this lane; undefined while it runs. */
  #failure: FailureState | undefined;
  /**
   * Log → sequence number of the first record that the lane needs once the write in progress is on
   * disk. Undefined while no write is in progress.
   */
  #lows: ReadonlyMap<string, number> | undefined;
  /** Facts about the receiver, which were taken from `#active` when it was last closed. */
  #past: DestinationPast | undefined;
  /** Resolves once each `#active` that was closed because the lane became idle is closed. */
  #closing: Promise<void> | undefined;
  /**
   * Timer of the next attempt to open `#active`, after an attempt that failed; undefined otherwise.
   */
  #retry: ReturnType<typeof setTimeout> | undefined;

  /** `mayReplay` is true if replayed events or requeued dead letters may wait for the lane. */
  constructor(
    private readonly context: LaneContext,
    private readonly kind: DestinationKind,
    destination: Destination,
    connections: readonly Connection[],
    mayReplay: boolean,
  ) {
    this.#labels = { destination: destination.id, name: destination.name, kind: kind.kind };
    this.#routes = new LaneRoutes(destination, connections);
    const record = context.ledger.lane(destination.id);
    const recovered = kind.batchLimits === undefined ? undefined : record?.sealed;
    const reader =
      mayReplay || recovered !== undefined || isFailing(record)
        ? undefined
        : RestingReader.create(context.logs, connections, record, () => undefined);
    this.#reader = reader ?? new LaneReader(context.logs, this.#routes.current, record, recovered);
    if (reader === undefined) this.#activate(recovered);
  }

  get destination(): Destination {
    return this.#routes.destination;
  }

  get connections(): readonly Connection[] {
    return this.#routes.connections;
  }

  get gauges(): LaneGauges {
    const active = this.#active;
    const { failure, refusal, lastFailure } = active?.delivery.client ?? {};
    return {
      labels: this.#labels,
      workspace: this.destination.workspaceId,
      // Events that have settled and are not on disk yet count too.
      lagSeconds: () => Math.max(active?.lagSeconds ?? 0, this.#secondsBehind),
      lagEvents: () => Math.max(this.#reader.lagEvents(), this.#active?.uncommitted ?? 0),
      isWaitingForSandbox: () => active?.isWaitingForSandbox ?? false,
      sourceIds: () => this.#routes.connections.map(({ sourceId }) => sourceId),
      failure: this.#failure ?? failure,
      refusal,
      lastFailure: lastFailure ?? this.#past?.lastFailure,
    };
  }

  durableLow(log: string): number | undefined {
    const low = this.#reader.durableLow(log);
    return low && Math.min(low, this.#active?.replays.durableLow(log) ?? low);
  }

  /** Returns the reader if the lane rests and may have unread records; undefined otherwise. */
  get behind(): RestingReader | undefined {
    const isBehind = this.#reader instanceof RestingReader && this.#reader.isBehind;
    return isBehind && !this.#isStopped ? (this.#reader as RestingReader) : undefined;
  }

  /**
   * Makes the lane check for new records in its logs. With `later`, it only notes that there may be
   * new records, and checks at the next call without `later`.
   */
  wake(later = false): void {
    if (this.#reader instanceof RestingReader && this.#reader.isAtEnd()) return;
    this.#wakeReader().wake();
    if (!later) this.#wakeActive();
  }

  /** Applies the start and end of replay jobs, and makes the lane read requeued dead letters. */
  refreshReplays(): void {
    this.#active?.refreshReplays();
    this.#wakeReader().wake();
    this.#wakeActive();
  }

  /**
   * Frees the memory of the lane if it is idle, and keeps only the read positions. Does nothing if
   * the lane has work, its destination fails, or the outcome of an event is not on disk yet.
   */
  rest(): void {
    const active = this.#active;
    if (active === undefined || this.#isStopped || !active.mayRest) return;
    if (this.#reader instanceof RestingReader) return;
    const { logs, logger } = this.context;
    const resting = RestingReader.after(this.#reader, logs, this.#routes.connections);
    if (resting === undefined) return;
    this.#reader = resting;
    this.#active = undefined;
    this.#past = active.delivery.client.past;
    // From here on, this lane writes its read positions.
    active.committer.discard();
    const former = this.#closing;
    this.#closing = active
      .stop()
      .catch((err) => logger.error({ ...this.#labels, err }, "idle lane failed to stop"))
      .then(() => former);
  }

  /** Writes the read position even without new outcomes, so that the log can be trimmed. */
  checkpoint(): void {
    if (this.#active !== undefined) this.#active.committer.schedule();
    else if (!this.#isDiscarded) this.context.ledger.schedule(this);
  }

  /**
   * Applies changed settings, and retries at once the deliveries that wait for a retry. Does
   * nothing if no setting has changed.
   */
  update(destination: Destination, connections: readonly Connection[]): void {
    const { config } = this.destination;
    const ended = this.#routes.update(destination, connections);
    if (ended === undefined) return;
    if (!Bun.deepEquals(config, destination.config)) this.#past = undefined;
    for (const connectionId of ended) {
      const fields = { ...this.#labels, connectionId };
      this.context.logger.info(fields, "connection ended; its events are discarded");
    }
    this.context.metrics.renameLane(this.#labels, destination.name);
    const reader = this.#wakeReader();
    reader.setRoutes(this.#routes.current);
    if (this.#active !== undefined) {
      this.#active.update(destination);
      // A restart must not restore the failure of the former config.
      this.#active.committer.schedule();
    } else {
      const lowOf = (log: string) => reader.durableLow(log);
      const { logs } = this.context;
      const resting = RestingReader.create(logs, connections, reader.record(), lowOf);
      if (resting !== undefined) this.#reader = resting;
      else this.#wakeActive();
    }
  }

  /**
   * Stops the lane. Abandons the batch over which user code runs; its events are read again after a
   * restart. Resolves when the running requests to the receiver have ended and a last commit of
   * progress is scheduled.
   */
  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#active !== undefined) await this.#active.stop();
    else this.checkpoint();
    await this.#closing;
  }

  /**
   * Stops the lane because its destination was deleted or disconnected, and discards its events.
   * Resolves with the number of discarded events.
   */
  async remove(): Promise<number> {
    this.#routes.remove();
    this.#discard();
    await this.stop();
    this.context.metrics.removeLane(this.#labels);
    return this.#active?.uncommitted ?? 0;
  }

  abort(): void {
    this.#active?.delivery.client.abort();
  }

  /**
   * Returns the read positions of an idle lane for the next commit. Returns undefined when they are
   * stored already, and for an active lane, which commits its read positions with its outcomes.
   */
  collect(): LaneChange | undefined {
    if (this.#isDiscarded || this.#active !== undefined) return undefined;
    const { id: destinationId } = this.destination;
    const record = this.#reader.record();
    if (isStored(this.context.ledger.lane(destinationId), record)) return undefined;
    this.#lows = this.#reader.lows();
    return { destinationId, record, deadLetters: [], settledRequeued: [] };
  }

  committed(): void {
    if (this.#lows !== undefined) this.#reader.committed(this.#lows);
    this.#lows = undefined;
  }

  /**
   * Stops the lane after a broken invariant, until the server is restarted. Its state may be wrong,
   * so it writes nothing more, and the log keeps its events.
   */
  fail(error: unknown): void {
    if (this.#failure !== undefined) return;
    const { clock, logger } = this.context;
    const reason = messageOf(error);
    this.#failure = { since: clock.elapsed(), startedAt: clock.now(), reason };
    logger.error({ ...this.#labels, invariant: reason, err: error }, "lane stopped");
    this.#discard();
    this.stop().catch((err) => logger.error({ ...this.#labels, err }, "lane failed to stop"));
  }

  /**
   * Age in seconds of the oldest event that the lane has not taken from the logs; 0 if there is no
   * such event or its age is unknown.
   */
  get #secondsBehind(): number {
    const { clock, logs } = this.context;
    const held = logs.names().flatMap((log) => logs.heldSince(log) ?? []);
    const oldestAt = Math.min(this.#reader.oldestAt ?? Number.POSITIVE_INFINITY, ...held);
    return Number.isFinite(oldestAt) ? clock.age(oldestAt) / 1_000 : 0;
  }

  #discard(): void {
    this.#isDiscarded = true;
    this.#active?.committer.discard();
    this.abort();
  }

  /**
   * Makes the running delivery (`#active`) look for events. Opens it first if it is closed. If
   * opening fails, tries again after a pause, during which the lane keeps its read position.
   */
  #wakeActive(): void {
    if (this.#active !== undefined) this.#active.wake();
    if (this.#active !== undefined || this.#isStopped || this.#retry !== undefined) return;
    try {
      this.#activate();
    } catch (err) {
      const { logger } = this.context;
      if (err instanceof InvariantError) this.fail(err);
      // The ledger itself reports that it is unavailable.
      else if (!(err instanceof ApiError))
        logger.error({ ...this.#labels, err }, "lane cannot start");
      this.#retry = setTimeout(() => {
        this.#retry = undefined;
        this.#wakeActive();
      }, FAULT_PAUSE_MS);
    }
  }

  #wakeReader(): LaneReader {
    if (this.#reader instanceof RestingReader)
      this.#reader = this.#reader.wake(this.#routes.current);
    return this.#reader;
  }

  #activate(recovered?: DeliveryIntent): void {
    // Read before any part is opened, as this fails while the ledger is opened again.
    const stored = this.context.ledger.lane(this.destination.id);
    this.#active = new ActiveLane({
      context: this.context,
      kind: this.kind,
      labels: this.#labels,
      routes: this.#routes,
      reader: this.#wakeReader(),
      recovered,
      past: this.#past,
      earlierFailure: stored ?? {},
      fail: (error) => this.fail(error),
    });
  }
}
