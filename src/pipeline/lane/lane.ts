import type { Connection, Destination } from "../../catalog/model.ts";
import type { DestinationKind } from "../../destinations/destination.ts";
import {
  GATHERED_EVENTS_MAX,
  RETRY_DELAY_MS_MIN,
  TRANSFORM_BATCH_EVENTS_MAX,
} from "../../settings/limits.ts";
import { Notifier } from "../clock.ts";
import { LaneDelivery } from "../delivering/lane-delivery.ts";
import { InFlight } from "../in-flight.ts";
import { LANE_REPLAYS_EVENTS_MAX } from "../limits.ts";
import type { EventOutcome, LaneEvent, Output } from "../model/lane-event.ts";
import type { DeliveryIntent } from "../model/lane-record.ts";
import {
  createRoutes,
  decideReplay,
  decideRoute,
  type RouteDecision,
  type Routes,
} from "../model/routes.ts";
import { HealthLogger } from "../monitoring/health-logger.ts";
import type { LaneLabels } from "../monitoring/lane-gauges.ts";
import { LaneReader } from "../reading/lane-reader.ts";
import { LaneReplays } from "../replays/lane-replays.ts";
import { createMemberFilter } from "../transforming/member-filter.ts";
import {
  type TransformContext,
  type TransformResult,
  transform,
} from "../transforming/transform.ts";
import { BatchScheduler } from "./batch-scheduler.ts";
import { EventDispatcher } from "./event-dispatcher.ts";
import { LaneCommitter } from "./lane-committer.ts";
import type { LaneContext } from "./lane-context.ts";

const handedOn = Promise.resolve(true);

/** Everything on its way to one destination: read, transformed, delivered, settled, committed. */
export class Lane {
  readonly #parts: LaneContext;
  readonly #labels: LaneLabels;
  readonly #reader: LaneReader;
  readonly #replays: LaneReplays;
  readonly #delivery: LaneDelivery;
  #routes: Routes;
  readonly #inFlight: InFlight;
  readonly #settling: LaneCommitter;
  readonly #next: BatchScheduler;
  readonly #handOver: EventDispatcher;
  readonly #announcements: HealthLogger;
  /** Notifies when there may be something to take, or room for it. */
  readonly #work = new Notifier();
  /** Notifies when settings change, or the lane ends. */
  readonly #changed = new Notifier();
  /**
   * Notifies when the lane ends. Unlike `#changed`, this also abandons a batch that is running in a
   * guest.
   */
  readonly #ending = new Notifier();
  #running = true;
  #removed = false;
  #waitsForSandbox = false;
  readonly #ended: Promise<void>;

  constructor(
    parts: LaneContext,
    kind: DestinationKind,
    destination: Destination,
    connections: readonly Connection[],
  ) {
    this.#parts = parts;
    this.#labels = { destination: destination.id, name: destination.name, kind: kind.kind };
    this.#routes = createRoutes(destination, connections);
    const gathers = kind.batchLimits !== undefined;
    const holdsMuch = (kind.batchLimits?.(destination.config).ageMs ?? 0) > 0;
    const record = parts.ledger.lane(destination.id);
    const repeated = gathers ? record?.sealed : undefined;
    this.#reader = new LaneReader(parts.logs, this.#routes, record, repeated);
    const share = parts.holdings.share(destination.workspaceId);
    this.#inFlight = new InFlight(share, holdsMuch);
    const replays = {
      ...{ ...parts, logs: parts.replayedLogs, work: this.#work },
      // Replays fill deliveries that are gathered; others they only go beside.
      inFlightMax: holdsMuch ? GATHERED_EVENTS_MAX : LANE_REPLAYS_EVENTS_MAX,
      destination: () => this.destination,
      schedule: () => this.#settling.schedule(),
    };
    this.#replays = new LaneReplays(replays, repeated);
    const announcements = new HealthLogger({ ...parts, destination: () => this.destination });
    this.#announcements = announcements;
    const settling = {
      ...parts,
      announcements,
      ...{ labels: this.#labels, reader: this.#reader, inFlight: this.#inFlight, room: this.#work },
      replays: this.#replays,
      destination: () => this.destination,
    };
    this.#settling = new LaneCommitter(settling, repeated);
    this.#next = new BatchScheduler({
      ...{ destinationId: destination.id, reader: this.#reader, inFlight: this.#inFlight },
      replays: this.#replays,
      ...{ ledger: parts.ledger, replaying: this.#settling.replaying, work: this.#work },
      ...{ clock: parts.clock, metrics: parts.metrics, changed: this.#changed },
    });
    const delivery = {
      ...parts,
      announcements,
      labels: this.#labels,
      running: () => this.#running,
      routes: () => this.#routes,
      standing: ({ item }: Output) => this.#standing(item),
      settle: (outputs: readonly Output[], ending: EventOutcome) =>
        this.#settling.settle(outputs, ending),
      repeated,
      seal: (sealed: DeliveryIntent) => this.#settling.seal(sealed),
      unseal: () => this.#settling.unseal(),
    };
    this.#delivery = new LaneDelivery(delivery, kind, destination);
    this.#handOver = new EventDispatcher({
      ...{ inFlight: this.#inFlight, delivery: this.#delivery },
      ...{ settling: this.#settling, next: this.#next },
    });
    if (holdsMuch) share.gathers(() => this.#delivery.press());
    this.#ended = this.#run(this.#transformHost(kind));
  }

  get destination(): Destination {
    return this.#routes.destination;
  }

  get gauges() {
    return {
      labels: this.#labels,
      workspace: this.destination.workspaceId,
      // `#inFlight` also holds items that have settled and are not on disk yet.
      lagEvents: () => Math.max(this.#reader.lagEvents(), this.#inFlight.size),
      lagSeconds: () => this.#lagSeconds(),
      ...{ waiting: () => this.#waitsForSandbox, failure: this.#delivery.failure },
      refusal: this.#delivery.refusal,
    };
  }

  durableLow(log: string): number | undefined {
    const low = this.#reader.durableLow(log);
    return low && Math.min(low, this.#replays.durableLow(log) ?? low);
  }

  /** There may be something to read, or to replay. */
  wake(replays = false): void {
    this.#reader.wake();
    if (replays) {
      this.#next.replay();
      // What is on its way for a job that was cancelled is looked up again.
      if (this.#replays.load()) this.#reroute();
    }
    this.#work.notify();
  }

  /** Has the cursor written although nothing settled, so that the log can be trimmed. */
  checkpoint(): void {
    this.#settling.schedule();
  }

  /** Applies changed settings. Mostly nothing has changed, and attempts that wait go on waiting. */
  update(destination: Destination, connections: readonly Connection[]): void {
    const routes = createRoutes(destination, connections);
    if (Bun.deepEquals(routes, this.#routes)) return;
    for (const { id } of this.#routes.bySource.values()) {
      if (connections.some((connection) => connection.id === id)) continue;
      const about = { ...this.#labels, connectionId: id };
      this.#parts.logger.info(about, "A connection ended; what it is still owed is discarded");
    }
    this.#routes = routes;
    this.#parts.metrics.rename(this.#labels, destination.name);
    this.#delivery.update(destination);
    this.#reader.reroute(this.#routes);
    this.#hurry();
  }

  /**
   * Starts nothing more. A batch that is running is left to its guest, and its events stay pending.
   * Resolves when attempts under way have ended and the cursors are scheduled.
   */
  async stop(): Promise<void> {
    this.#running = false;
    this.#replays.stop();
    this.#ending.notify();
    this.#hurry();
    await this.#ended;
    await this.#delivery.close();
    this.checkpoint();
    this.#announcements.end();
    this.#inFlight.close();
  }

  /**
   * As `stop`, for a destination that is gone: what it is owed is discarded. Returns how many
   * events that were.
   */
  async remove(): Promise<number> {
    this.#removed = true;
    this.#reroute();
    this.#settling.discard();
    this.abort();
    await this.stop();
    this.#parts.metrics.end(this.#labels);
    return this.#inFlight.size;
  }

  /** Cuts off the attempts under way. */
  abort(): void {
    this.#delivery.abort();
  }

  /** A new object, so that everything that was found by the old routes is looked up again. */
  #reroute(): void {
    this.#routes = { ...this.#routes };
  }

  #hurry(): void {
    this.#changed.notify();
    this.#delivery.hurry();
    this.#work.notify();
  }

  /**
   * The lane's loop. At most two batches are on their way: a guest reads the next batch while it
   * runs the first.
   */
  async #run(host: TransformContext): Promise<void> {
    let last = handedOn;
    while (this.#running) {
      // Two reasons to wait for the last batch first: a full lane gets room bit by bit, and small
      // batches cost more than they gain; and what has to run again comes before what was not taken
      // yet.
      if (this.#inFlight.room.events < TRANSFORM_BATCH_EVENTS_MAX || this.#next.runsAgain) {
        await last;
        last = handedOn;
      }
      const notified = this.#work.wait();
      const items = await this.#safely(() => this.#next.take());
      if (items === undefined) continue;
      if (items.length === 0) {
        this.#delivery.flush();
        if (this.#delivery.gathers && (this.#inFlight.isFull || this.#reader.repeated)) {
          await last;
          last = handedOn;
          this.#delivery.press();
        }
        if (this.#reader.repeated) {
          // It was handed on as a whole: from here on all others are taken.
          this.#reader.goOn();
          this.#replays.goOn();
          this.#next.replay();
        } else if (this.#running) await notified;
        continue;
      }
      if (!this.#waitsForSandbox) this.#delivery.fill();
      const before = last;
      last = this.#carry(host, items, before);
      await before;
    }
    await last;
  }

  /**
   * Runs the live code over items, and hands the outputs on behind those of the batch `before`.
   * False when the outputs found no room: they are forgotten, and the items run again.
   */
  async #carry(
    host: TransformContext,
    items: readonly LaneEvent[],
    before: Promise<boolean>,
  ): Promise<boolean> {
    let made: Map<LaneEvent, TransformResult> | undefined;
    let standings = new Map<LaneEvent, RouteDecision>();
    // The items are kept until they are handed on, so that an error on the way does not lose them.
    while (made === undefined && this.#running) {
      made = await this.#safely(() => {
        standings = this.#standings(items);
        const due = items.filter((item) => standings.get(item)!.kind === "send");
        return transform(host, due);
      });
    }
    const isNext = await before;
    if (made === undefined || !this.#running) return true;
    if (!isNext) {
      this.#next.putBehind(items);
      return false;
    }
    const left = (await this.#safely(() => this.#handOver.handOn(items, standings, made))) ?? [];
    this.#next.putBack(left);
    // The loop may have found nothing to take meanwhile, and be waiting.
    if (left.length > 0) this.#work.notify();
    return left.length === 0;
  }

  /** Runs a step; undefined after an error, which is logged and followed by a pause. */
  async #safely<T>(step: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await step();
    } catch (error) {
      this.#parts.logger.error({ ...this.#labels, err: error }, "A lane cannot go on");
      await this.#pause(RETRY_DELAY_MS_MIN);
      return undefined;
    }
  }

  #standings(items: readonly LaneEvent[]): Map<LaneEvent, RouteDecision> {
    this.#parts.refresh();
    return new Map(items.map((item) => [item, this.#standing(item)]));
  }

  #standing(item: LaneEvent): RouteDecision {
    if (this.#removed) return { kind: "discard" };
    const { origin, input } = item;
    if ("replayId" in origin && !this.#replays.isRunning(origin.replayId)) {
      return { kind: "discard" };
    }
    const at =
      "connectionId" in origin
        ? decideRoute(this.#routes, input.sourceId, origin)
        : decideReplay(this.#routes);
    if (at.kind === "send") item.routes = this.#routes;
    return at;
  }

  #lagSeconds(): number {
    const { oldest } = this.#inFlight;
    return oldest === undefined ? 0 : this.#parts.clock.age(oldest.bornAt) / 1_000;
  }

  #pause(ms: number): Promise<void> {
    return this.#parts.clock.sleep(ms, this.#changed);
  }

  #transformHost({ overrideMembers = [] }: DestinationKind): TransformContext {
    const { live, sandbox, logger, clock, metrics } = this.#parts;
    return {
      ...{ live, sandbox, logger },
      destination: () => this.destination,
      running: () => this.#running,
      random: () => clock.random(),
      withhold: createMemberFilter(overrideMembers),
      pause: (ms) => this.#pause(ms),
      unlessEnding: (work) => this.#ending.unlessNotified(work),
      waiting: (is) => {
        this.#waitsForSandbox = is;
        if (is) this.#delivery.flush();
      },
      ran: (...batch) => metrics.ran(this.#labels, ...batch),
    };
  }
}
