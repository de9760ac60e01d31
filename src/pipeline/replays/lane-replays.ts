import type { Destination } from "../../catalog/model.ts";
import type { Logger } from "../../observe/log.ts";
import type { Clock, Notifier } from "../clock.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { EventOutcome, LaneEvent } from "../model/lane-event.ts";
import type { DeliveryIntent } from "../model/lane-record.ts";
import type { JobCounts, JobProgress } from "../model/replay-job.ts";
import type { LaneMetrics } from "../monitoring/metrics.ts";
import type { LogSet } from "../reading/shared-reader.ts";
import { EventReplay } from "./event-replay.ts";

export interface LaneReplaysParts {
  ledger: Pick<Ledger, "jobs">;
  /** Apart from that of live events, so that what many lanes share there is not driven out. */
  logs: LogSet;
  clock: Clock;
  logger: Logger;
  metrics: Pick<LaneMetrics, "replayed">;
  /** Replayed events that may be on their way at the same time. */
  inFlightMax: number;
  /** Notifies when there may be something to take. */
  work: Notifier;
  destination(): Destination;
  /** Has what is new written soon. */
  schedule(): void;
}

/** The replays of the log to one destination, as their lane sees them. */
export class LaneReplays {
  readonly #parts: LaneReplaysParts;
  readonly #replays = new Map<string, EventReplay>();

  /** `repeated`: the delivery of before a crash, whose events come before all others. */
  constructor(parts: LaneReplaysParts, repeated: DeliveryIntent | undefined) {
    this.#parts = parts;
    this.#load(repeated);
  }

  /** Takes up which jobs run. True when one was ended whose events may be on their way. */
  load(): boolean {
    const running = this.#load();
    let wasEnded = false;
    for (const [id, replay] of this.#replays) {
      if (running.has(id)) continue;
      replay.end();
      wasEnded = true;
      if (replay.isOver) this.#replays.delete(id);
    }
    return wasEnded;
  }

  /** Whether events are to be taken now. While the destination is disabled they wait. */
  get isDue(): boolean {
    return this.#parts.destination().enabled && this.#some((replay) => replay.isDue);
  }

  take(count: number, bytes: number): LaneEvent[] {
    const due = this.isDue ? this.#replays.values().find((replay) => replay.isDue) : undefined;
    return due?.take(count, bytes) ?? [];
  }

  /** As `take`, while a delivery is repeated: none when all of it was taken. */
  async takeRepeated(count: number, bytes: number): Promise<LaneEvent[]> {
    for (const replay of this.#replays.values()) {
      const items = await replay.takeRepeated(count, bytes);
      if (items.length > 0) return items;
    }
    return [];
  }

  /** The delivery that was repeated is complete. */
  goOn(): void {
    for (const replay of this.#replays.values()) replay.goOn();
  }

  /** Whether a job's events are still to be sent. */
  isRunning(id: string): boolean {
    return this.#replays.get(id)?.isRunning ?? false;
  }

  /** An item has settled: all of its outputs have ended, `ending` being that of the last. */
  settle({ origin, letters, isDelivered }: LaneEvent, ending: EventOutcome): void {
    if (!("replayId" in origin)) return;
    const outcome =
      letters.length > 0 ? "failed" : isDelivered ? "delivered" : outcomes[ending.kind];
    const { metrics, destination } = this.#parts;
    metrics.replayed.inc({ workspace: destination().workspaceId, outcome });
    this.#replays.get(origin.replayId)?.settle(origin.log, origin.sequence, outcome);
  }

  /** What is new since the last call. */
  progress(): JobProgress[] {
    return [...this.#replays.values()].map((it) => it.progress()).filter((it) => it !== undefined);
  }

  lows(): Map<string, ReadonlyMap<string, number>> {
    return new Map([...this.#replays].map(([id, replay]) => [id, replay.lows()]));
  }

  /** Progress is on disk, with the lows of that time. */
  kept(progress: readonly JobProgress[], lows: ReadonlyMap<string, ReadonlyMap<string, number>>) {
    for (const { id, doneAt } of progress) {
      const replay = this.#replays.get(id);
      replay?.kept(lows.get(id)!);
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

  #load(repeated?: DeliveryIntent): Set<string> {
    const { ledger, destination, work, schedule, ...parts } = this.#parts;
    const jobs = ledger.jobs.runningOf(destination().id);
    for (const job of jobs) {
      if (this.#replays.has(job.id)) continue;
      const replay = new EventReplay({
        ...{ ...parts, job, destination: destination(), wasRead: schedule },
        repeated: repeated && (repeated.replays?.[job.id] ?? {}),
        work: () => work.notify(),
      });
      this.#replays.set(job.id, replay);
    }
    return new Set(jobs.map(({ id }) => id));
  }

  #some(holds: (replay: EventReplay) => boolean): boolean {
    return this.#replays.values().some(holds);
  }
}

const outcomes: Record<EventOutcome["kind"], keyof JobCounts> = {
  delivered: "delivered",
  dropped: "dropped",
  discarded: "discarded",
  "dead-letter": "failed",
};
