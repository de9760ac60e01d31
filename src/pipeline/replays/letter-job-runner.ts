import type { Logger } from "../../observe/log.ts";
import { type Clock, Notifier } from "../clock.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { LetterJob, ReplayJob } from "../model/replay-job.ts";

/** Maximum number of dead letters that one step of a job requeues or deletes. */
const STEP_LETTERS_MAX = 250;
/**
 * Number of steps per second of a job with a low rate. Its steps have fewer dead letters than
 * `STEP_LETTERS_MAX`, so that the letters are spread evenly over time.
 */
const STEPS_PER_SECOND = 4;
/**
 * Number of requeued dead letters that may wait for delivery to one destination. At this number,
 * jobs pause before they requeue more.
 */
const WAITING_REPLAYS_MAX = 1_000;
/** Pause in milliseconds while a destination has too many requeued dead letters. */
const CROWDED_MS = 200;
/** Pause in milliseconds after a step that failed. */
const FAILURE_MS = 1_000;
/** Shortest pause in milliseconds between two steps of a job. During the pause, other work runs. */
const STEP_PAUSE_MS_MIN = 10;

interface LetterJobRunnerParts {
  ledger: Ledger;
  /** Tells the deliveries to the destinations `destinationIds` to read requeued letters now. */
  wake(destinationIds: readonly string[]): void;
  clock: Clock;
  logger: Logger;
}

/**
 * Runs the jobs of one ledger (store of delivery progress) that requeue or delete dead letters.
 * Letters and job progress change in one transaction, so that the progress is exact also after a
 * cancel or a crash.
 */
export class LetterJobRunner {
  readonly #running = new Map<string, Promise<void>>();
  readonly #stopping = new Notifier();
  #isStopped = false;

  constructor(private readonly parts: LetterJobRunnerParts) {
    this.startJobs();
  }

  /**
   * Starts all dead-letter jobs that have the state `running` in the ledger (store of delivery
   * progress) and that this runner has not started yet. If the ledger cannot be read, tries again
   * later.
   */
  startJobs(): void {
    if (this.#isStopped) return;
    try {
      for (const job of this.parts.ledger.jobs.running()) {
        if (job.kind === "events" || this.#running.has(job.id)) continue;
        const running = this.#run(job).finally(() => this.#running.delete(job.id));
        this.#running.set(job.id, running);
      }
    } catch (error) {
      this.parts.logger.error({ err: error }, "cannot read replays; retrying");
      void this.#pause(FAILURE_MS).then(() => this.startJobs());
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#stopping.notify();
    await Promise.all(this.#running.values());
  }

  async #run({ workspaceId, id }: ReplayJob): Promise<void> {
    let destinationIds: string[] = [];
    while (!this.#isStopped) {
      const step = await this.#step(workspaceId, id, destinationIds);
      if (step === "over") return;
      if (step.destinationIds.length > 0) destinationIds = step.destinationIds;
      await this.#pause(step.pauseMs);
    }
  }

  /**
   * Requeues or deletes the next dead letters of a job. Returns the requeued letters' destinations
   * and the pause until the next step, or "over" if no step follows. Changes nothing if too many
   * requeued letters wait for a destination in `last`, which has the destinations of the letters
   * requeued last. Never rejects.
   */
  async #step(workspaceId: string, id: string, last: readonly string[]) {
    const { ledger, wake, clock, logger } = this.parts;
    try {
      if (this.#isCrowded(last)) return { destinationIds: [], pauseMs: CROWDED_MS };
      const job = ledger.jobs.get(workspaceId, id) as LetterJob | undefined;
      if (job?.state !== "running" || job.movedAt !== undefined) return "over";
      const rate = job.kind === "purge" ? Number.POSITIVE_INFINITY : job.rate;
      const count = Math.min(STEP_LETTERS_MAX, Math.ceil(rate / STEPS_PER_SECOND));
      const moved = await ledger.moveLetters(workspaceId, id, count, clock.now());
      const { requeued, isOver } = moved;
      const destinationIds = [...new Set(requeued.map(({ letter }) => letter.destinationId))];
      wake(destinationIds);
      if (isOver) return "over";
      const pauseMs = Math.max(STEP_PAUSE_MS_MIN, (requeued.length * 1_000) / rate);
      return { destinationIds, pauseMs };
    } catch (error) {
      if (!this.#isStopped) logger.error({ replayId: id, err: error }, "replay step failed");
      return { destinationIds: [], pauseMs: FAILURE_MS };
    }
  }

  #isCrowded(destinationIds: readonly string[]): boolean {
    const { ledger } = this.parts;
    return destinationIds.some((id) => ledger.requeued.hasAtLeast(id, WAITING_REPLAYS_MAX));
  }

  #pause(ms: number): Promise<void> {
    return this.parts.clock.sleep(ms, this.#stopping);
  }
}
