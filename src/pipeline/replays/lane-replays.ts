import type { Destination } from "../../catalog/model.ts";
import type { Notifier } from "../clock.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { EventOutcome, LaneEvent } from "../model/lane-event.ts";
import type { DeliveryIntent } from "../model/lane-record.ts";
import type { JobCounts, JobProgress } from "../model/replay-job.ts";
import type { LaneMetrics } from "../monitoring/metrics.ts";
import { EventReplay, type EventReplayParts } from "./event-replay.ts";

interface LaneReplaysParts
  extends Pick<EventReplayParts, "logs" | "clock" | "logger" | "inFlightMax" | "fail"> {
  ledger: Pick<Ledger, "jobs">;
  metrics: Pick<LaneMetrics, "replayed">;
  /** Notifies the delivery to the destination when a replay may have events to take. */
  work: Notifier;
  destination(): Destination;
}

/**
 * All replays of logged events to one destination. The destination's lane (its delivery) takes
 * their events.
 */
export class LaneReplays {
  readonly #replays = new Map<string, EventReplay>();
  #schedule = () => {};

  constructor(private readonly parts: LaneReplaysParts) {}

  /**
   * Starts reading for all running jobs. `recovered` is the delivery that a crash or a normal stop
   * interrupted; the replayed events in it are taken first. The replays call `schedule` when their
   * progress should be stored soon.
   */
  start(recovered: DeliveryIntent | undefined, schedule: () => void): void {
    this.#schedule = schedule;
    this.#startJobs(recovered);
  }

  /**
   * Starts a replay for each running job that has none yet, and stops the replays of jobs that have
   * ended. Returns whether a job has ended. Some events of an ended job may still be in delivery.
   */
  refreshJobs(): boolean {
    const running = this.#startJobs();
    let hasEnded = false;
    for (const [id, replay] of this.#replays) {
      if (running.has(id)) continue;
      replay.end();
      hasEnded = true;
      if (replay.isOver) this.#replays.delete(id);
    }
    return hasEnded;
  }

  get isEmpty(): boolean {
    return this.#replays.size === 0;
  }

  /** Whether `take` would return an event. Always false while the destination is disabled. */
  get isDue(): boolean {
    return this.parts.destination().enabled && this.#replays.values().some((it) => it.isDue);
  }

  take(count: number, bytes: number): LaneEvent[] {
    const due = this.isDue ? this.#replays.values().find((replay) => replay.isDue) : undefined;
    return due?.take(count, bytes) ?? [];
  }

  /**
   * Takes replayed events of the delivery that a crash or a normal stop interrupted. Returns an
   * empty list when all were taken, or if the destination is disabled.
   */
  async takeRecovered(count: number, bytes: number): Promise<LaneEvent[]> {
    if (!this.parts.destination().enabled) return [];
    for (const replay of this.#replays.values()) {
      const events = await replay.takeRecovered(count, bytes);
      if (events.length > 0) return events;
    }
    return [];
  }

  /**
   * Ends the recovery of an interrupted delivery: the replays then read up to the ends of their
   * ranges. Call it when `takeRecovered` has returned all events.
   */
  endRecovery(): void {
    for (const replay of this.#replays.values()) replay.endRecovery();
  }

  /** Whether a replay job is running. The caller discards events of a job that has ended. */
  isRunning(id: string): boolean {
    return this.#replays.get(id)?.isRunning ?? false;
  }

  /**
   * Handles the result of a replayed event when all of its outputs (the events that user code made
   * of it) have an outcome; `outcome` is the last one. While the job runs, discarded events are
   * sent later, because only a disabled destination discards them.
   */
  settle(
    origin: { replayId: string; log: string; sequence: number },
    event: LaneEvent,
    outcome: EventOutcome,
  ): void {
    const { deadLetters, isDelivered, isDiscarded } = event;
    // A running job discards events only while the destination is disabled.
    if (isDiscarded && this.isRunning(origin.replayId)) {
      this.#replays.get(origin.replayId)?.putBack(event);
      return;
    }
    const count =
      deadLetters !== undefined ? "failed" : isDelivered ? "delivered" : counts[outcome.kind];
    const { metrics, destination } = this.parts;
    metrics.replayed.inc({ workspace: destination().workspaceId, outcome: count });
    this.#replays
      .get(origin.replayId)
      ?.settle(origin.log, origin.sequence, count, deadLetters?.[0]);
  }

  /** Returns the progress of the jobs whose progress has changed since the last call. */
  progress(): JobProgress[] {
    return [...this.#replays.values()].map((it) => it.progress()).filter((it) => it !== undefined);
  }

  lows(): Map<string, ReadonlyMap<string, number>> {
    return new Map([...this.#replays].map(([id, replay]) => [id, replay.lows()]));
  }

  /**
   * Notes that `progress`, an earlier result of `progress()`, is on disk, and ends the replays of
   * jobs that have `doneAt` in it. `lows` is what `lows()` returned when `progress()` was called.
   */
  committed(progress: readonly JobProgress[], lows: ReturnType<LaneReplays["lows"]>): void {
    for (const { id, doneAt } of progress) {
      const replay = this.#replays.get(id);
      replay?.committed(lows.get(id)!);
      if (doneAt !== undefined) replay?.end();
      if (replay?.isOver) this.#replays.delete(id);
    }
  }

  /**
   * Returns the lowest position of a log that a replay to this destination would read after a
   * restart; undefined when no replay needs this log. The log must keep its records from there on.
   */
  durableLow(log: string): number | undefined {
    const lows = [...this.#replays.values()].map((replay) => replay.durableLow(log));
    const needed = lows.filter((low) => low !== undefined);
    return needed.length === 0 ? undefined : Math.min(...needed);
  }

  stop(): void {
    for (const replay of this.#replays.values()) replay.stop();
  }

  #startJobs(recovered?: DeliveryIntent): Set<string> {
    const { ledger, destination, work, ...parts } = this.parts;
    const jobs = ledger.jobs.runningOf(destination().id);
    for (const job of jobs) {
      if (this.#replays.has(job.id)) continue;
      const replay = new EventReplay({
        ...parts,
        job,
        destination: destination(),
        recovered: recovered && (recovered.replays?.[job.id] ?? {}),
        onReady: () => work.notify(),
        onRead: () => this.#schedule(),
      });
      this.#replays.set(job.id, replay);
    }
    return new Set(jobs.map(({ id }) => id));
  }
}

const counts: Record<EventOutcome["kind"], keyof JobCounts> = {
  delivered: "delivered",
  dropped: "dropped",
  discarded: "discarded",
  "dead-letter": "failed",
};
