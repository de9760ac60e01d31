import { assert } from "../../assert.ts";
import type { Logger } from "../../observe/log.ts";
import { openStore } from "../../store/lmdb/lmdb-store.ts";
import type { Store } from "../../store/store.ts";
import type { Table } from "../../store/table.ts";
import type { LetterOwner, NewLetter } from "../model/dead-letter.ts";
import type { LaneRecord } from "../model/lane-record.ts";
import type { JobProgress, LetterJob } from "../model/replay-job.ts";
import { type CommitSource, GroupCommit } from "./group-commit.ts";
import { JobTables, RUNNING } from "./job-tables.ts";
import { type ClaimListener, LedgerClaims, type LedgerOwner, OWNERS } from "./ledger-claim.ts";
import { type DropRange, LetterTables } from "./letter-tables.ts";
import { type MovedLetters, moveLetters, recordMoved } from "./move-letters.ts";
import { RepetitionTable } from "./repetition-table.ts";
import { REQUEUED, RequeuedLetters } from "./requeued-letters.ts";
import { dropRequeued, type SettledLetter, settleRequeued } from "./settle-requeued.ts";

/** A change to the stored state of a lane (the delivery to one destination), in one transaction. */
export interface LaneChange {
  destinationId: string;
  record: LaneRecord;
  deadLetters: readonly NewLetter[];
  /** Requeued dead letters that have a final outcome. The ledger deletes them. */
  settledRequeued: readonly SettledLetter[];
  /** New progress of the jobs that send logged events to the destination again. */
  jobs?: readonly JobProgress[];
}

export type LaneCommitSource = CommitSource<LaneChange>;

type JobReads = "get" | "list" | "running" | "runningOf" | "expectRoom";
type RequeuedReads = "destinations" | "oldest" | "hasAtLeast";
type LetterReads = "get" | "scan" | "groups" | "counts" | "countOf" | "hasLetters";

/** Opens the ledger (the store of delivery progress) of a standalone server. */
export function openLedger(directory: string, logger: Logger): Ledger {
  const options = { path: directory, name: "The ledger", logger };
  return new Ledger(openStore(options), logger);
}

/** Stores the delivery progress of a partition: read positions, dead letters and replay jobs. */
export class Ledger {
  readonly letters: Pick<LetterTables, LetterReads>;
  readonly jobs: Pick<JobTables, JobReads>;
  /** The requeued dead letters that have no final outcome yet. */
  readonly requeued: Pick<RequeuedLetters, RequeuedReads>;
  readonly repetitions: RepetitionTable;
  readonly #store: Store;
  readonly #tables: LetterTables;
  readonly #jobs: JobTables;
  readonly #lanes: Table<LaneRecord, string>;
  readonly #requeued: RequeuedLetters;
  readonly #commits: GroupCommit<LaneChange>;
  readonly #claims: LedgerClaims;
  #stopListening = () => {};
  #claim: { id: string; listener: ClaimListener } | undefined;
  /**
   * Ids of the destinations with running replay jobs. Read when this node claims the ledger, and
   * again each time that another node changes such jobs.
   */
  #jobDestinations = new Set<string>();

  constructor(store: Store, logger: Logger) {
    this.#store = store;
    this.#commits = new GroupCommit({
      write: (changes, number) => this.#write(changes, number),
      onLost: () => this.#claim?.listener.onLost(),
      logger,
    });
    this.#claims = new LedgerClaims(store);
    this.#lanes = store.table("lanes");
    this.#requeued = new RequeuedLetters(store);
    this.requeued = this.#requeued;
    this.#tables = new LetterTables(this.#store);
    this.letters = this.#tables;
    this.#jobs = new JobTables(this.#store);
    this.jobs = this.#jobs;
    this.repetitions = new RepetitionTable(store, (apply) => this.#changeOwned(apply));
  }

  /**
   * Claims a shared ledger for this node. Once this resolves, this node sees all earlier writes,
   * and only this node can write the progress of deliveries until the next claim. Call it once,
   * before any delivery starts.
   */
  async claim(node: string, listener: ClaimListener): Promise<void> {
    assert(this.#claim === undefined, "A ledger is claimed once by a node");
    const id = crypto.randomUUID();
    await this.#store.change(() => this.#claims.write(node, id));
    this.#claim = { id, listener };
    this.#stopListening = this.#store.listen((tables) => this.#handleForeign(tables));
    this.#jobDestinations = this.#jobs.destinations();
    // Another node may have claimed the ledger before this one began to listen.
    this.#handleForeign(new Set([OWNERS]));
  }

  /**
   * Whether the nodes of a cluster share the ledger. Only such nodes call `claim`, so the value is
   * true once `claim` has resolved, and always false on a standalone server.
   */
  get isShared(): boolean {
    return this.#claim !== undefined;
  }

  owner(): LedgerOwner | undefined {
    return this.#claims.owner();
  }

  lane(destinationId: string): LaneRecord | undefined {
    return this.#lanes.get(destinationId);
  }

  /** Returns the stored progress of all deliveries, with which they continue after a restart. */
  lanes(): LaneRecord[] {
    return [...this.#lanes.getRange({})].map(({ value }) => value);
  }

  /** Ids of destinations with stored progress, dead letters or requeued letters. */
  destinations(): Set<string> {
    const lanes = new Set<string>(this.#lanes.getKeys());
    return lanes.union(this.#tables.destinations()).union(this.#requeued.destinations());
  }

  /** Makes the next commit include the changes of `source`. */
  schedule(source: LaneCommitSource): void {
    this.#commits.schedule(source);
  }

  /**
   * Requeues the dead letters with the given `ids`, so that they are sent again. Handles only the
   * first ids, as many as fit into one transaction.
   * - `done`: number of handled ids; the caller passes the rest to the next call.
   * - `destinationIds`: destination of each requeued letter.
   * - `record`: the request's entry in the list of replays.
   */
  async requeue(workspaceId: string, ids: readonly string[], now: number, record?: LetterJob) {
    const { taken, done } = await this.#store.change(() => {
      const moved = this.#take(workspaceId, ids, record);
      const jobId = record?.id;
      for (const letter of moved.taken) this.#requeued.put({ letter, replayedAt: now, jobId });
      recordMoved(this.#jobs, record, moved.taken, now);
      return moved;
    });
    this.#requeued.added(taken);
    return { destinationIds: taken.map((letter) => letter.destinationId), done };
  }

  /** Requeues or deletes up to `count` dead letters of the job `id`, in one transaction. */
  async moveLetters(workspaceId: string, id: string, count: number, now: number) {
    const moved: MovedLetters = await this.#store.change(() => {
      const moved = moveLetters(this.#tables, this.#jobs, { workspaceId, id, count, now });
      for (const letter of moved.requeued) this.#requeued.put(letter);
      return moved;
    });
    this.#requeued.added(moved.requeued.map(({ letter }) => letter));
    return moved;
  }

  /** Calls `apply`, which may change replay jobs, inside a transaction, and returns its result. */
  changeJobs<T>(apply: (jobs: JobTables) => T): Promise<T> {
    return this.#store.change(() => apply(this.#jobs));
  }

  /**
   * Deletes the dead letters with the given `ids`. Handles only the first ids, as many as fit into
   * one transaction.
   * - `done`: number of handled ids, including those without a letter; the caller passes the rest
   *   to the next call.
   * - `purged`: number of deleted letters.
   * - `record`: the request's entry in the list of replays.
   */
  async purge(workspaceId: string, ids: readonly string[], record?: LetterJob) {
    const { taken, done } = await this.#store.change(() => {
      const moved = this.#take(workspaceId, ids, record);
      recordMoved(this.#jobs, record, moved.taken, record?.createdAt ?? 0);
      return moved;
    });
    return { purged: taken.length, done };
  }

  /** Deletes up to `range.count` of a destination's oldest dead letters; returns their number. */
  dropOldest(of: LetterOwner, range: DropRange): Promise<number> {
    return this.#store.change(() => this.#tables.dropOldest(of, range));
  }

  /**
   * Deletes the stored progress of the delivery to a destination. With `letters`, also deletes the
   * destination's dead letters and requeued letters. Resolves with the number of deleted dead
   * letters.
   */
  async remove(destinationId: string, letters: boolean): Promise<number> {
    // A node that was replaced may not have heard that the destination is connected again.
    await this.#changeOwned(() => this.#lanes.remove(destinationId));
    this.#requeued.rescan(destinationId);
    if (!letters) return 0;
    const drop = () => dropRequeued(this.#requeued, this.#jobs, destinationId);
    while ((await this.#store.change(drop)) > 0);
    let dropped = 0;
    for (;;) {
      const of = this.#tables.ownerOf(destinationId);
      if (of === undefined) return dropped;
      dropped += await this.dropOldest(of, { count: Number.POSITIVE_INFINITY });
    }
  }

  /** Resolves once this node sees all changes that any node acknowledged before the call. */
  current(): Promise<void> {
    return this.#store.catchUp();
  }

  /**
   * Removes and returns dead letters (`taken`). Handles only the first `done` of the `ids`, as many
   * as fit into one transaction. If a user has cancelled the request `record`, removes no letter
   * and counts all ids as handled.
   */
  #take(workspaceId: string, ids: readonly string[], record: LetterJob | undefined) {
    const job = record && this.#jobs.get(workspaceId, record.id);
    if (job?.state === "cancelled") return { taken: [], done: ids.length };
    return this.#tables.take(workspaceId, ids);
  }

  /** Whether the last attempt to write the progress of the deliveries failed. */
  get isFailing(): boolean {
    return this.#commits.isFailing;
  }

  /** Reason why progress and dead letters cannot be written; undefined while they can. */
  failure(): string | undefined {
    return this.#store.trouble();
  }

  /** Writes the scheduled changes if possible, then closes the store. */
  async close(): Promise<void> {
    await this.#commits.close();
    this.#stopListening();
    await this.#store.close();
  }

  async #write(changes: readonly LaneChange[], number: number): Promise<void> {
    const put = () => {
      for (const change of changes) this.#put(change);
    };
    const claim = this.#claim;
    const commit = claim === undefined ? put : () => this.#claims.applyOnce(claim.id, number, put);
    await this.#store.change(commit, { allowStale: true });
  }

  #put({ destinationId, record, deadLetters, settledRequeued, jobs = [] }: LaneChange): void {
    this.#lanes.put(destinationId, record);
    for (const progress of jobs) this.#jobs.advance(progress);
    settleRequeued(this.#requeued, this.#jobs, { destinationId, settled: settledRequeued });
    for (const letter of deadLetters) {
      assert(
        letter.destinationId === destinationId,
        "A dead letter is committed with the cursor of its own lane",
      );
      this.#tables.put(letter);
    }
  }

  /**
   * Handles a change of the tables `tables` by any node. If another node has claimed the ledger,
   * ends this node's commits. Otherwise calls `onReplaysChanged`:
   * - when requeued letters changed: with all destinations that have any;
   * - when replay jobs started or ended: with all destinations that have or just had jobs.
   */
  #handleForeign(tables: ReadonlySet<string>): void {
    const claim = this.#claim;
    if (claim === undefined || this.#commits.isClosed) return;
    if (tables.has(OWNERS) && this.owner()?.claim !== claim.id) this.#commits.abandon();
    else if (tables.has(REQUEUED)) {
      this.#requeued.rescan();
      claim.listener.onReplaysChanged(this.#requeued.destinations());
    }
    if (!this.#commits.isClosed && tables.has(RUNNING)) {
      const before = this.#jobDestinations;
      this.#jobDestinations = this.#jobs.destinations();
      claim.listener.onReplaysChanged(before.union(this.#jobDestinations));
    }
  }

  /** Makes a change in a transaction that fails if another node has claimed the ledger. */
  #changeOwned(apply: () => void): Promise<void> {
    const { id } = this.#claim ?? {};
    return this.#store.change(id === undefined ? apply : () => this.#claims.run(id, apply));
  }
}
