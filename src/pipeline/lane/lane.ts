import type { Connection, Destination } from "../../catalog/model.ts";
import type { DestinationKind } from "../../destinations/destination.ts";
import { messageOf } from "../../errors.ts";
import { GATHERED_EVENTS_MAX } from "../../settings/limits.ts";
import { Notifier } from "../clock.ts";
import { LaneDelivery } from "../delivering/lane-delivery.ts";
import { LANE_REPLAYS_EVENTS_MAX } from "../limits.ts";
import type { LaneBudget } from "../memory-budget.ts";
import type { LaneEvent } from "../model/lane-event.ts";
import type { DeliveryIntent } from "../model/lane-record.ts";
import type { RouteDecision } from "../model/routes.ts";
import { HealthLogger } from "../monitoring/health-logger.ts";
import type { FailureState, LaneGauges, LaneLabels } from "../monitoring/lane-gauges.ts";
import { LaneReader } from "../reading/lane-reader.ts";
import { LaneReplays } from "../replays/lane-replays.ts";
import { createMemberFilter } from "../transforming/member-filter.ts";
import type { TransformContext } from "../transforming/transform.ts";
import { BatchLoop } from "./batch-loop.ts";
import { BatchScheduler } from "./batch-scheduler.ts";
import { EventDispatcher } from "./event-dispatcher.ts";
import { LaneCommitter } from "./lane-committer.ts";
import type { LaneContext } from "./lane-context.ts";
import { LaneRoutes } from "./lane-routes.ts";

/** Delivers one destination's events: reads the logs, runs user code, sends, stores progress. */
export class Lane {
  readonly #context: LaneContext;
  readonly #labels: LaneLabels;
  readonly #memory: LaneBudget;
  readonly #reader: LaneReader;
  readonly #replays: LaneReplays;
  readonly #health: HealthLogger;
  readonly #committer: LaneCommitter;
  readonly #scheduler: BatchScheduler;
  readonly #delivery: LaneDelivery;
  readonly #routes: LaneRoutes;
  /** Notified when there may be new events to take, or free memory for what code makes of them. */
  readonly #work = new Notifier();
  /** Notified when settings change or this delivery stops. */
  readonly #changed = new Notifier();
  /** Notified only when this delivery stops, to abandon a batch that runs in a sandbox process. */
  readonly #stopping = new Notifier();
  #isRunning = true;
  #isWaitingForSandbox = false;
  /** Set once a broken invariant (a bug) has stopped this delivery; undefined before. */
  #failure: FailureState | undefined;
  readonly #loop: Promise<void>;

  constructor(
    context: LaneContext,
    kind: DestinationKind,
    destination: Destination,
    connections: readonly Connection[],
  ) {
    const { ledger, memory } = context;
    this.#context = context;
    this.#labels = { destination: destination.id, name: destination.name, kind: kind.kind };
    this.#routes = new LaneRoutes(destination, connections);
    const holdsMuch = (kind.batchLimits?.(destination.config).ageMs ?? 0) > 0;
    const record = ledger.lane(destination.id);
    const recovered = kind.batchLimits === undefined ? undefined : record?.sealed;
    this.#memory = memory.openLane(destination.workspaceId, holdsMuch);
    this.#reader = new LaneReader(context.logs, this.#routes.current, record, recovered);
    this.#health = new HealthLogger({ ...context, destination: () => this.destination });
    // Replays fill batched deliveries; other deliveries they only go beside.
    const inFlightMax = holdsMuch ? GATHERED_EVENTS_MAX : LANE_REPLAYS_EVENTS_MAX;
    this.#replays = this.#createReplays(inFlightMax);
    this.#committer = this.#createCommitter(recovered);
    this.#replays.start(recovered, () => this.#committer.schedule());
    this.#scheduler = this.#createScheduler();
    this.#delivery = this.#createDelivery(kind, recovered);
    if (holdsMuch) this.#memory.onPressure(() => this.#delivery.flushBatch());
    this.#loop = this.#createLoop(kind)
      .run()
      .catch((error) => this.#fail(error));
  }

  get destination(): Destination {
    return this.#routes.destination;
  }

  get gauges(): LaneGauges {
    return {
      labels: this.#labels,
      workspace: this.destination.workspaceId,
      // `#memory` also counts events that have settled and are not on disk yet.
      lagEvents: () => Math.max(this.#reader.lagEvents(), this.#memory.uncommitted),
      lagSeconds: () => this.#lagSeconds(),
      isWaitingForSandbox: () => this.#isWaitingForSandbox,
      failure: this.#failure ?? this.#delivery.failure,
      refusal: this.#delivery.refusal,
    };
  }

  durableLow(log: string): number | undefined {
    const low = this.#reader.durableLow(log);
    return low && Math.min(low, this.#replays.durableLow(log) ?? low);
  }

  /** Makes the lane look for new records in its logs; with `later`, only at the next call. */
  wake(later = false): void {
    this.#reader.wake();
    if (!later) this.#work.notify();
  }

  /** Call when replay jobs of the destination began or ended, or dead letters were requeued. */
  refreshReplays(): void {
    this.#scheduler.noteRequeued();
    // Events of a cancelled job are on their way.
    if (this.#replays.refreshJobs()) this.#routes.invalidate();
    this.wake();
  }

  /** Writes the read position even without new outcomes, so that the log can be trimmed. */
  checkpoint(): void {
    this.#committer.schedule();
  }

  /** Applies changed settings. If nothing changed, deliveries waiting for a retry keep waiting. */
  update(destination: Destination, connections: readonly Connection[]): void {
    const ended = this.#routes.update(destination, connections);
    if (ended === undefined) return;
    for (const connectionId of ended) {
      const fields = { ...this.#labels, connectionId };
      this.#context.logger.info(fields, "connection ended; its events are discarded");
    }
    this.#context.metrics.renameLane(this.#labels, destination.name);
    this.#delivery.update(destination);
    this.#reader.setRoutes(this.#routes.current);
    this.#interruptWaits();
  }

  /**
   * Stops the lane. A running batch is abandoned, and its events are read again after a restart.
   * Resolves when running deliveries have ended and a last commit of progress is scheduled.
   */
  async stop(): Promise<void> {
    this.#isRunning = false;
    this.#replays.stop();
    this.#stopping.notify();
    this.#interruptWaits();
    await this.#loop;
    await this.#delivery.close();
    this.checkpoint();
    this.#health.close();
    this.#memory.close();
  }

  /**
   * Stops the lane because its destination was deleted or disconnected, and discards its events.
   * Resolves with the number of discarded events.
   */
  async remove(): Promise<number> {
    this.#routes.remove();
    this.#committer.discard();
    this.abort();
    await this.stop();
    this.#context.metrics.removeLane(this.#labels);
    return this.#memory.uncommitted;
  }

  /** Aborts all running deliveries. */
  abort(): void {
    this.#delivery.abort();
  }

  /**
   * Stops the lane for good after a broken invariant. Its state may be wrong, so it writes nothing
   * more. The log keeps its events until the server is started again.
   */
  #fail(error: unknown): void {
    if (this.#failure !== undefined) return;
    const { clock, logger } = this.#context;
    const reason = messageOf(error);
    this.#failure = { since: clock.elapsed(), startedAt: clock.now(), reason };
    logger.error({ ...this.#labels, invariant: reason, err: error }, "lane stopped");
    this.#committer.discard();
    this.abort();
    this.stop().catch((err) => logger.error({ ...this.#labels, err }, "lane failed to stop"));
  }

  #interruptWaits(): void {
    this.#changed.notify();
    this.#delivery.interruptWaits();
    this.#work.notify();
  }

  #decideAll(events: readonly LaneEvent[]): Map<LaneEvent, RouteDecision> {
    this.#context.refresh();
    return new Map(events.map((event) => [event, this.#decide(event)]));
  }

  #decide(event: LaneEvent): RouteDecision {
    return this.#routes.decide(event, (replayId) => this.#replays.isRunning(replayId));
  }

  #lagSeconds(): number {
    const { oldest } = this.#memory;
    return oldest === undefined ? 0 : this.#context.clock.age(oldest.retryWindowStart) / 1_000;
  }

  #createReplays(inFlightMax: number): LaneReplays {
    return new LaneReplays({
      ...this.#context,
      logs: this.#context.replayedLogs,
      inFlightMax,
      work: this.#work,
      destination: () => this.destination,
      fail: (error) => this.#fail(error),
    });
  }

  #createCommitter(recovered: DeliveryIntent | undefined): LaneCommitter {
    const parts = {
      ...this.#context,
      labels: this.#labels,
      health: this.#health,
      reader: this.#reader,
      replays: this.#replays,
      memory: this.#memory,
      destination: () => this.destination,
      room: this.#work,
      fail: (error: unknown) => this.#fail(error),
    };
    return new LaneCommitter(parts, recovered);
  }

  #createScheduler(): BatchScheduler {
    return new BatchScheduler({
      ...this.#context,
      destinationId: this.destination.id,
      reader: this.#reader,
      memory: this.#memory,
      replays: this.#replays,
      requeuedIds: this.#committer.requeuedIds,
      work: this.#work,
      changed: this.#changed,
    });
  }

  #createDelivery(kind: DestinationKind, recovered: DeliveryIntent | undefined): LaneDelivery {
    const committer = this.#committer;
    const parts = {
      ...this.#context,
      labels: this.#labels,
      health: this.#health,
      isRunning: () => this.#isRunning,
      routes: () => this.#routes.current,
      decide: (event: LaneEvent) => this.#decide(event),
      committer,
      recovered,
      fail: (error: unknown) => this.#fail(error),
    };
    return new LaneDelivery(parts, kind, this.destination);
  }

  #createLoop(kind: DestinationKind): BatchLoop {
    const memory = this.#memory;
    const delivery = this.#delivery;
    return new BatchLoop({
      memory,
      scheduler: this.#scheduler,
      dispatcher: new EventDispatcher({ memory, delivery, committer: this.#committer }),
      delivery,
      transform: this.#createTransformContext(kind),
      labels: this.#labels,
      logger: this.#context.logger,
      work: this.#work,
      decide: (events) => this.#decideAll(events),
      isRecovering: () => this.#reader.recovering !== undefined,
      endRecovery: () => {
        this.#reader.endRecovery();
        this.#replays.endRecovery();
        this.#scheduler.noteRequeued();
      },
      isWaitingForSandbox: () => this.#isWaitingForSandbox,
      fail: (error) => this.#fail(error),
    });
  }

  #createTransformContext({ overrideMembers = [] }: DestinationKind): TransformContext {
    const { live, sandbox, logger, clock, metrics } = this.#context;
    return {
      live,
      sandbox,
      logger,
      destination: () => this.destination,
      running: () => this.#isRunning,
      random: () => clock.random(),
      removeOverrides: createMemberFilter(overrideMembers),
      pause: (ms) => clock.sleep(ms, this.#changed),
      unlessStopped: (work) => this.#stopping.unlessNotified(work),
      setWaiting: (isWaiting) => {
        this.#isWaitingForSandbox = isWaiting;
        if (isWaiting) this.#delivery.flush();
      },
      onRun: (live, outcomes, seconds) => metrics.recordRun(this.#labels, live, outcomes, seconds),
    };
  }
}
