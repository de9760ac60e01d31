import { ApiError } from "../../errors.ts";
import {
  REPLAYS_KEPT_OF_WORKSPACE_MAX,
  REPLAYS_MAX,
  REPLAYS_OF_WORKSPACE_MAX,
} from "../../settings/limits.ts";
import type { Store } from "../../store/store.ts";
import type { Table } from "../../store/table.ts";
import {
  addCounts,
  commonScope,
  type EventJob,
  type JobProgress,
  type LetterJob,
  pendingLetters,
  type ReplayJob,
} from "../model/replay-job.ts";
import { addFailures, type JobOutcomes } from "./job-failures.ts";
import { firstKeys, keyRange, type PairKey } from "./letter-keys.ts";

/** How and when a replay job ended. `endedAt` is in milliseconds since the epoch. */
export interface JobEnd {
  state: "done" | "cancelled" | "failed";
  endedAt: number;
  error?: string;
}

/** Name of the table that lists the running replay jobs. */
export const RUNNING = "replay-jobs-running";

/**
 * The tables of replay jobs. Such a job sends logged events again, or requeues or deletes dead
 * letters. The tables hold all running jobs, and the most recent ended ones.
 */
export class JobTables {
  /**
   * [workspace id, job id] → job. Job ids are UUIDs of version 7, so keys sort by creation time.
   */
  readonly #jobs: Table<ReplayJob, PairKey>;
  /**
   * [destination id, job id] → workspace id, for each running job. Jobs that requeue or delete dead
   * letters have an empty destination id.
   */
  readonly #running: Table<string, PairKey>;

  constructor(store: Store) {
    this.#jobs = store.table("replay-jobs");
    this.#running = store.table(RUNNING);
  }

  get(workspaceId: string, id: string): ReplayJob | undefined {
    return this.#jobs.get([workspaceId, id]);
  }

  /** All jobs of a workspace, newest first. */
  list(workspaceId: string): ReplayJob[] {
    return [...this.#jobs.getRange(keyRange(workspaceId))].map(({ value }) => value).reverse();
  }

  /** Running jobs of all workspaces. */
  running(): ReplayJob[] {
    return [...this.#running.getRange({})].flatMap(({ key, value }) => this.#stored(key, value));
  }

  /** Returns the ids of destinations to which a running job sends logged events again. */
  destinations(): Set<string> {
    return firstKeys(this.#running).difference(new Set([""]));
  }

  /** Running jobs that send logged events to one destination again. */
  runningOf(destinationId: string): EventJob[] {
    return [...this.#running.getRange(keyRange(destinationId))]
      .flatMap(({ key, value }) => this.#stored(key, value))
      .filter((job) => job.kind === "events");
  }

  /**
   * Throws an `ApiError` if too many jobs are running, or if the job would be the second that sends
   * logged events to its destination. Jobs that only wait for the outcomes of letters do not count
   * as running.
   */
  expectRoom(job: ReplayJob): void {
    // Jobs that only wait for the outcomes of their letters do not requeue more letters.
    const running = this.running().filter((job) => !isMoved(job));
    const own = running.filter(({ workspaceId }) => workspaceId === job.workspaceId);
    const destinationId = destinationOf(job);
    if (destinationId !== "" && this.runningOf(destinationId).length > 0) {
      throw new ApiError("conflict", "A replay to this destination is running already");
    }
    if (own.length >= REPLAYS_OF_WORKSPACE_MAX) {
      const message = `Expected at most ${REPLAYS_OF_WORKSPACE_MAX} replays to run in a workspace`;
      throw new ApiError("too-many", message);
    }
    if (running.length >= REPLAYS_MAX) {
      throw new ApiError("too-many", `Expected at most ${REPLAYS_MAX} replays to run in all`);
    }
  }

  /**
   * Starts a job. Throws the `ApiError` of `expectRoom` if the job may not start. Call this method,
   * and every other method that changes jobs, only inside a transaction of the store.
   */
  start(job: ReplayJob): void {
    this.expectRoom(job);
    this.#dropOld(job.workspaceId);
    this.#jobs.put([job.workspaceId, job.id], job);
    this.#running.put([destinationOf(job), job.id], job.workspaceId);
  }

  /**
   * Ends a running job. A job that has already ended is not changed. Returns the job, or undefined
   * when there is none with this id.
   */
  end(workspaceId: string, id: string, end: JobEnd): ReplayJob | undefined {
    const job = this.get(workspaceId, id);
    if (job?.state !== "running") return job;
    const ended = { ...job, ...end };
    this.#jobs.put([workspaceId, id], ended);
    this.#running.remove([destinationOf(job), id]);
    return ended;
  }

  /**
   * Stores the progress of a job that sends logged events again. If the job has ended meanwhile, it
   * stays ended.
   */
  advance({ doneAt, ...progress }: JobProgress): void {
    const { workspaceId, id } = progress;
    const job = this.get(workspaceId, id);
    if (job?.kind !== "events") return;
    this.#jobs.put([workspaceId, id], { ...job, ...progress });
    if (doneAt !== undefined) this.end(workspaceId, id, { state: "done", endedAt: doneAt });
  }

  /** Stores a job that requeues or deletes dead letters, with its new progress. */
  put(job: ReplayJob): void {
    this.#jobs.put([job.workspaceId, job.id], job);
  }

  /**
   * Adds a request to requeue or delete dead letters by id to the list of replay jobs. Call this
   * once in each transaction of the request: later calls add their letters to the same entry.
   */
  record(job: LetterJob, now: number): void {
    const { workspaceId, id, counts } = job;
    const before = this.get(workspaceId, id) as LetterJob | undefined;
    if (before === undefined) this.#dropOld(workspaceId);
    const moved = (before?.counts.moved ?? 0) + counts.moved;
    const all: LetterJob = {
      ...(before ?? job),
      ...commonScope([before ?? job, job]),
      seen: moved,
      total: moved,
      counts: { ...(before ?? job).counts, moved },
    };
    this.#running.put(["", id], workspaceId);
    this.endMoving(all, now);
  }

  /**
   * Records that a job has no letter left to requeue or delete. Ends the job at once if all
   * requeued letters have an outcome; otherwise, `settleLetters` ends the job after the last
   * outcome.
   */
  endMoving(job: LetterJob, now: number): void {
    const { workspaceId, id } = job;
    // A job whose first letters all had an outcome has ended, and runs again with more letters.
    const { endedAt: _, ...rest } = job;
    this.put({ ...rest, state: "running", movedAt: now });
    if (pendingLetters(job) === 0) this.end(workspaceId, id, { state: "done", endedAt: now });
  }

  /** Adds outcomes of requeued letters to their job's counts; ends the job after the last one. */
  settleLetters(id: string, { workspaceId, counts, failures }: JobOutcomes, now: number): void {
    const job = this.get(workspaceId, id);
    if (job === undefined || job.kind === "events") return;
    const settled: LetterJob = {
      ...job,
      counts: addCounts(job.counts, counts),
      failures: addFailures(job.failures ?? [], failures),
    };
    this.put(settled);
    const isDone = isMoved(settled) && pendingLetters(settled) === 0;
    if (isDone) this.end(workspaceId, id, { state: "done", endedAt: now });
  }

  #stored([, id]: PairKey, workspaceId: string): ReplayJob[] {
    const job = this.get(workspaceId, id);
    return job === undefined ? [] : [job];
  }

  /**
   * Deletes a workspace's oldest ended jobs, so that one more job stays within
   * `REPLAYS_KEPT_OF_WORKSPACE_MAX`. A job that has requeued all its letters counts as ended, even
   * if some have no final outcome yet.
   */
  #dropOld(workspaceId: string): void {
    const ended = this.list(workspaceId).filter((job) => job.state !== "running" || isMoved(job));
    for (const job of ended.slice(REPLAYS_KEPT_OF_WORKSPACE_MAX - 1)) {
      this.#jobs.remove([workspaceId, job.id]);
      this.#running.remove([destinationOf(job), job.id]);
    }
  }
}

/** Whether a job has requeued all of its letters, and only waits for their outcomes. */
export function isMoved(job: ReplayJob): boolean {
  return job.kind !== "events" && job.movedAt !== undefined;
}

function destinationOf(job: ReplayJob): string {
  return job.kind === "events" ? job.destinationId : "";
}
