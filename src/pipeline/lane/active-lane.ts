import type { Destination } from "../../catalog/model.ts";
import type { DestinationKind } from "../../destinations/destination.ts";
import { GATHERED_EVENTS_MAX } from "../../settings/limits.ts";
import { Notifier } from "../clock.ts";
import type { DestinationPast } from "../delivering/destination-client.ts";
import { LaneDelivery } from "../delivering/lane-delivery.ts";
import { LANE_IDLE_MS, LANE_REPLAYS_EVENTS_MAX } from "../limits.ts";
import type { LaneEvent } from "../model/lane-event.ts";
import type { DeliveryIntent, FailureRecord } from "../model/lane-record.ts";
import type { RouteDecision } from "../model/routes.ts";
import { HealthLogger } from "../monitoring/health-logger.ts";
import type { LaneLabels } from "../monitoring/lane-gauges.ts";
import type { LaneReader } from "../reading/lane-reader.ts";
import { LaneReplays } from "../replays/lane-replays.ts";
import { createMemberFilter } from "../transforming/member-filter.ts";
import type { TransformContext } from "../transforming/transform.ts";
import { BatchLoop } from "./batch-loop.ts";
import { BatchScheduler } from "./batch-scheduler.ts";
import { createDispatcher } from "./event-dispatcher.ts";
import { LaneCommitter } from "./lane-committer.ts";
import type { LaneContext, LaneParts } from "./lane-context.ts";
import type { LaneRoutes } from "./lane-routes.ts";

export interface ActiveLaneParts {
  context: LaneContext;
  kind: DestinationKind;
  labels: LaneLabels;
  routes: LaneRoutes;
  reader: LaneReader;
  /** Batched delivery that a crash or a normal stop interrupted; undefined when there is none. */
  recovered: DeliveryIntent | undefined;
  past: DestinationPast | undefined;
  /**
   * The destination's failure as an earlier process stored it: for how long all attempts had
   * failed, or for how long the receiver had refused all events. Its fields are undefined if the
   * destination worked.
   */
  earlierFailure: FailureRecord;
  /** Stops the delivery to this destination because an invariant was broken, which is a bug. */
  fail(error: unknown): void;
}

/**
 * Delivers a destination's events while there are any: takes batches of events, runs user code,
 * sends the outputs, and stores progress.
 */
export class ActiveLane {
  /**
   * Objects that all parts of this delivery share: those of the partition and those of this lane.
   */
  readonly #shared: LaneParts;
  /** The replay jobs that send logged events to the destination again. */
  readonly replays: LaneReplays;
  /** Writes the outcomes of events and the read positions. */
  readonly committer: LaneCommitter;
  readonly #scheduler: BatchScheduler;
  /** Sends the events, and knows whether the destination works. */
  readonly delivery: LaneDelivery;
  readonly #routes: LaneRoutes;
  /** Signals that settings have changed or this lane stops, which ends the batch loop's pauses. */
  readonly #changed = new Notifier();
  /** Signals that this delivery stops. A batch that runs in a sandbox process is then abandoned. */
  readonly #stopping = new Notifier();
  #isRunning = true;
  /** Whether events wait for a sandbox process, which runs user code. */
  isWaitingForSandbox = false;
  readonly #loop: BatchLoop;
  readonly #ended: Promise<void>;

  constructor(parts: ActiveLaneParts) {
    const { context, kind, labels, routes, reader, recovered, fail } = parts;
    this.#routes = routes;
    const { id, workspaceId, config } = routes.destination;
    const holdsMuch = (kind.batchLimits?.(config).ageMs ?? 0) > 0;
    const destination = () => routes.destination;
    this.#shared = {
      ...context,
      labels,
      reader,
      destination,
      fail,
      memory: context.memory.openLane(workspaceId, holdsMuch),
      health: new HealthLogger({ ...context, destination }),
      work: new Notifier(),
      isRunning: () => this.#isRunning,
      failureRecord: () => this.delivery.client.failureRecord,
    };
    const { memory } = this.#shared;
    this.replays = new LaneReplays({
      ...this.#shared,
      logs: context.replayedLogs,
      // Replays are part of batched deliveries; they do not affect other deliveries.
      inFlightMax: holdsMuch ? GATHERED_EVENTS_MAX : LANE_REPLAYS_EVENTS_MAX,
    });
    this.committer = new LaneCommitter({ ...this.#shared, replays: this.replays }, recovered);
    this.replays.start(recovered, () => this.committer.schedule());
    this.#scheduler = new BatchScheduler({
      ...this.#shared,
      destinationId: id,
      program: () => context.live.program(id),
      replays: this.replays,
      requeuedIds: this.committer.requeuedIds,
      changed: this.#changed,
    });
    this.delivery = this.#createDelivery(parts);
    // An interrupted delivery is repeated as a whole, unless this lane itself lacks memory.
    const flush = () => reader.recovering === undefined && this.delivery.batching?.flush();
    if (holdsMuch) memory.onPressure(flush);
    this.#loop = this.#createLoop(kind);
    this.#ended = this.#loop.run().catch(fail);
  }

  /**
   * Age in seconds of the oldest event that this delivery has taken and whose outcome is not on
   * disk yet; 0 when there is none.
   */
  get lagSeconds(): number {
    const { oldest } = this.#shared.memory;
    return oldest === undefined ? 0 : this.#shared.clock.age(oldest.retryWindowStart) / 1_000;
  }

  /** Whether this object may be closed: idle for `LANE_IDLE_MS`, and the destination works. */
  get mayRest(): boolean {
    const isIdle = this.#loop.isWaiting && this.uncommitted === 0 && this.committer.isIdle;
    if (!isIdle || !this.replays.isEmpty || !this.delivery.client.isWell) return false;
    return this.#scheduler.hasRested(LANE_IDLE_MS);
  }

  /** Number of events whose outcome is not on disk yet. */
  get uncommitted(): number {
    return this.#shared.memory.uncommitted;
  }

  /** Makes the batch loop of this delivery check for new events. */
  wake(): void {
    this.#shared.work.notify();
  }

  /** Starts new jobs' replays, stops ended jobs' replays. Makes the lane read requeued letters. */
  refreshReplays(): void {
    this.#scheduler.noteRequeued();
    // Events of a cancelled job are on their way.
    if (this.replays.refreshJobs()) this.#routes.invalidate();
  }

  /** Applies a changed destination. Retries at once the deliveries that wait for a retry. */
  update(destination: Destination): void {
    this.delivery.client.update(destination);
    this.#interruptWaits();
  }

  /**
   * Stops the delivery. Abandons a running batch, whose events are read again after a restart.
   * Resolves when running deliveries have ended and a last write of the progress is scheduled.
   */
  async stop(): Promise<void> {
    this.#isRunning = false;
    this.replays.stop();
    this.#stopping.notify();
    this.#interruptWaits();
    await this.#ended;
    await this.delivery.close();
    this.committer.schedule();
    this.#shared.health.close();
    this.#shared.memory.close();
  }

  #interruptWaits(): void {
    this.#changed.notify();
    this.delivery.interruptWaits();
    this.#shared.work.notify();
  }

  #decide(event: LaneEvent): RouteDecision {
    return this.#routes.decide(event, this.replays);
  }

  #createDelivery({ kind, recovered, past, earlierFailure }: ActiveLaneParts): LaneDelivery {
    const parts = {
      ...this.#shared,
      routes: () => this.#routes.current,
      decide: (event: LaneEvent) => this.#decide(event),
      committer: this.committer,
      recovered,
      past,
      earlierFailure,
    };
    return new LaneDelivery(parts, kind, this.#routes.destination);
  }

  #createLoop(kind: DestinationKind): BatchLoop {
    const { reader, refresh } = this.#shared;
    const parts = { ...this.#shared, delivery: this.delivery, committer: this.committer };
    return new BatchLoop({
      ...parts,
      scheduler: this.#scheduler,
      dispatch: createDispatcher(parts),
      transform: this.#createTransformContext(kind),
      decide: (events) => {
        refresh();
        return events.map((event) => this.#decide(event));
      },
      isRecovering: () => reader.recovering !== undefined,
      endRecovery: () => {
        reader.endRecovery();
        this.replays.endRecovery();
        this.delivery.batching?.endRecovery();
        this.#scheduler.noteRequeued();
      },
      isWaitingForSandbox: () => this.isWaitingForSandbox,
    });
  }

  #createTransformContext({ overrideMembers = [] }: DestinationKind): TransformContext {
    const { clock, metrics, labels } = this.#shared;
    return {
      ...this.#shared,
      removeOverrides: createMemberFilter(overrideMembers),
      pause: (ms) => clock.sleep(ms, this.#changed),
      unlessStopped: (work) => this.#stopping.unlessNotified(work),
      setWaiting: (isWaiting) => {
        this.isWaitingForSandbox = isWaiting;
        if (isWaiting) this.delivery.flush();
      },
      onRun: (live, outcomes, seconds) => {
        metrics.recordRun(labels, live, outcomes, seconds);
        this.#scheduler.size.noteRun(outcomes.length, seconds);
      },
    };
  }
}
