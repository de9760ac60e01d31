import type { Destination } from "../../catalog/model.ts";
import type { Notifier } from "../clock.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { EventOutcome, LaneEvent } from "../model/lane-event.ts";
import type { DeliveryIntent } from "../model/lane-record.ts";
import type { JobCounts, JobProgress } from "../model/replay-job.ts";
import type { LaneMetrics } from "../monitoring/metrics.ts";
import { EventReplay, type EventReplayParts } from "./event-replay.ts";

export interface LaneReplaysParts
  extends Pick<EventReplayParts, "logs" | "clock" | "logger" | "inFlightMax" | "fail"> {
  ledger: Pick<Ledger, "jobs">;
  metrics: Pick<LaneMetrics, "replayed">;
  /** Notifies when there may be something to take. */
  work: Notifier;
  destination(): Destination;
}

/** The replays of the log to one destination, in its lane. */
export class LaneReplays {
  readonly #parts: LaneReplaysParts;
  readonly #replays = new Map<string, EventReplay>();
  #schedule = () => {};

  constructor(parts: LaneReplaysParts) {
    this.#parts = parts;
  }

  /**
   * Begins to read ahead. Events of the delivery before a crash, `recovered`, come first.
   * `schedule`
   * has new progress written soon.
   */
  start(recovered: DeliveryIntent | undefined, schedule: () => void): void {
    this.#schedule = schedule;
    this.#startJobs(recovered);
  }

  /** Reads which jobs run. Returns whether one ended whose events may be on their way. */
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

  /** Whether events may be taken now. While the destination is disabled they wait. */
  get isDue(): boolean {
    return this.#parts.destination().enabled && this.#replays.values().some((it) => it.isDue);
  }

  take(count: number, bytes: number): LaneEvent[] {
    const due = this.isDue ? this.#replays.values().find((replay) => replay.isDue) : undefined;
    return due?.take(count, bytes) ?? [];
  }

  /** Takes events of the recovered delivery; none when all of them were taken. */
  async takeRecovered(count: number, bytes: number): Promise<LaneEvent[]> {
    for (const replay of this.#replays.values()) {
      const events = await replay.takeRecovered(count, bytes);
      if (events.length > 0) return events;
    }
    return [];
  }

  /** Takes all events from now on: the recovered delivery is complete. */
  endRecovery(): void {
    for (const replay of this.#replays.values()) replay.endRecovery();
  }

  /** Whether a job's events are still to be sent. */
  isRunning(id: string): boolean {
    return this.#replays.get(id)?.isRunning ?? false;
  }

  /** Settles a replayed event: all of its outputs have ended, the last with `outcome`. */
  settle(
    origin: { replayId: string; log: string; sequence: number },
    { deadLetters, isDelivered }: LaneEvent,
    outcome: EventOutcome,
  ): void {
    const count =
      deadLetters.length > 0 ? "failed" : isDelivered ? "delivered" : counts[outcome.kind];
    const { metrics, destination } = this.#parts;
    metrics.replayed.inc({ workspace: destination().workspaceId, outcome: count });
    this.#replays.get(origin.replayId)?.settle(origin.log, origin.sequence, count);
  }

  /** Progress that is new since the last call. */
  progress(): JobProgress[] {
    return [...this.#replays.values()].map((it) => it.progress()).filter((it) => it !== undefined);
  }

  lows(): Map<string, ReadonlyMap<string, number>> {
    return new Map([...this.#replays].map(([id, replay]) => [id, replay.lows()]));
  }

  /** Notes that progress is on disk, with the low marks from when it was collected. */
  committed(progress: readonly JobProgress[], lows: ReturnType<LaneReplays["lows"]>): void {
    for (const { id, doneAt } of progress) {
      const replay = this.#replays.get(id);
      replay?.committed(lows.get(id)!);
      if (doneAt !== undefined) replay?.end();
      if (replay?.isOver) this.#replays.delete(id);
    }
  }

  /** The oldest record that a replay needs after a restart; undefined when none needs any. */
  durableLow(log: string): number | undefined {
    const lows = [...this.#replays.values()].map((replay) => replay.durableLow(log));
    const needed = lows.filter((low) => low !== undefined);
    return needed.length === 0 ? undefined : Math.min(...needed);
  }

  stop(): void {
    for (const replay of this.#replays.values()) replay.stop();
  }

  #startJobs(recovered?: DeliveryIntent): Set<string> {
    const { ledger, destination, work, ...parts } = this.#parts;
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
