import { ApiError } from "../../errors.ts";
import {
  REPLAYS_KEPT_OF_WORKSPACE_MAX,
  REPLAYS_MAX,
  REPLAYS_OF_WORKSPACE_MAX,
} from "../../settings/limits.ts";
import type { Store } from "../../store/store.ts";
import type { Table } from "../../store/table.ts";
import type { EventJob, JobProgress, ReplayJob } from "../model/replay-job.ts";
import { firstKeys, keyRange, type PairKey } from "./letter-keys.ts";

/** The end of a job. */
export interface JobEnd {
  state: "done" | "cancelled" | "failed";
  endedAt: number;
  error?: string;
}

/** Name of the table of running jobs. */
export const RUNNING = "replay-jobs-running";

/** Replay jobs in a store: the running ones, and the last that ended. */
export class JobTables {
  /** [workspace, job] → job. Ids are UUIDs of version 7, so that they sort by time. */
  readonly #jobs: Table<ReplayJob, PairKey>;
  /** [destination, job] → workspace, of jobs that run; the destination of dead letters is empty. */
  readonly #running: Table<string, PairKey>;

  constructor(store: Store) {
    this.#jobs = store.table("replay-jobs");
    this.#running = store.table(RUNNING);
  }

  get(workspaceId: string, id: string): ReplayJob | undefined {
    return this.#jobs.get([workspaceId, id]);
  }

  /** Jobs of a workspace, newest first. */
  list(workspaceId: string): ReplayJob[] {
    return [...this.#jobs.getRange(keyRange(workspaceId))].map(({ value }) => value).reverse();
  }

  /** Running jobs of all workspaces. */
  running(): ReplayJob[] {
    return [...this.#running.getRange({})].flatMap(({ key, value }) => this.#stored(key, value));
  }

  /** Destinations of running event jobs. */
  destinations(): Set<string> {
    return firstKeys(this.#running).difference(new Set([""]));
  }

  /** Running event jobs of a destination. */
  runningOf(destinationId: string): EventJob[] {
    return [...this.#running.getRange(keyRange(destinationId))]
      .flatMap(({ key, value }) => this.#stored(key, value))
      .filter((job) => job.kind === "events");
  }

  /** Only inside a change, like all methods that follow. Refuses a job beyond the bounds. */
  start(job: ReplayJob): void {
    const running = this.running();
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
    this.#dropOld(job.workspaceId);
    this.#jobs.put([job.workspaceId, job.id], job);
    this.#running.put([destinationId, job.id], job.workspaceId);
  }

  /** Ends a job that runs; one that has ended stays as it is. Returns the job. */
  end(workspaceId: string, id: string, end: JobEnd): ReplayJob | undefined {
    const job = this.get(workspaceId, id);
    if (job?.state !== "running") return job;
    const ended = { ...job, ...end };
    this.#jobs.put([workspaceId, id], ended);
    this.#running.remove([destinationOf(job), id]);
    return ended;
  }

  /** Stores the progress of a job; a job that was ended meanwhile stays ended. */
  advance({ doneAt, ...progress }: JobProgress): void {
    const { workspaceId, id } = progress;
    const job = this.get(workspaceId, id);
    if (job?.kind !== "events") return;
    this.#jobs.put([workspaceId, id], { ...job, ...progress });
    if (doneAt !== undefined) this.end(workspaceId, id, { state: "done", endedAt: doneAt });
  }

  /** Stores a job over dead letters with new progress. */
  put(job: ReplayJob): void {
    this.#jobs.put([job.workspaceId, job.id], job);
  }

  #stored([, id]: PairKey, workspaceId: string): ReplayJob[] {
    const job = this.get(workspaceId, id);
    return job === undefined ? [] : [job];
  }

  /** Deletes the oldest ended jobs, so that one more has room. */
  #dropOld(workspaceId: string): void {
    const ended = this.list(workspaceId).filter(({ state }) => state !== "running");
    for (const { id } of ended.slice(REPLAYS_KEPT_OF_WORKSPACE_MAX - 1)) {
      this.#jobs.remove([workspaceId, id]);
    }
  }
}

function destinationOf(job: ReplayJob): string {
  return job.kind === "events" ? job.destinationId : "";
}
