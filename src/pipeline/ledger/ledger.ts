import type { Logger } from "../../observe/log.ts";
import { openStore } from "../../store/lmdb/lmdb-store.ts";
import type { ChangeOptions, Store } from "../../store/store.ts";
import type { Table } from "../../store/table.ts";
import type { LetterOwner, RequeuedLetter, StoredLetter } from "../model/dead-letter.ts";
import type { LaneRecord } from "../model/lane-record.ts";
import type { JobProgress } from "../model/replay-job.ts";
import { type CommitSource, GroupCommit } from "./group-commit.ts";
import { JobTables, RUNNING } from "./job-tables.ts";
import { LedgerClaims, type LedgerOwner, OWNERS } from "./ledger-claim.ts";
import { firstKeys, keyRange, type PairKey } from "./letter-keys.ts";
import { type DropRange, LetterTables, letterChars, takeChars } from "./letter-tables.ts";
import { type MovedLetters, moveLetters } from "./move-letters.ts";

/** What one lane wants to have written, all or nothing. */
export interface LaneChange {
  destinationId: string;
  record: LaneRecord;
  letters: readonly StoredLetter[];
  /** Letter ids of replays that have settled. */
  replayed: readonly string[];
  /** How far jobs are that replay the log. */
  jobs?: readonly JobProgress[];
}

export type LaneCommitSource = CommitSource<LaneChange>;

/** What a node that has claimed a ledger is told. */
export interface ClaimListener {
  /** Another node has claimed the ledger: nothing more is written for lanes. Called once. */
  onLost(): void;
  /** Others have written replays, or begun or ended jobs, of these destinations among others. */
  onReplays(destinationIds: Set<string>): void;
}

/** Ids of replays that are in flight. */
export interface IdSet {
  readonly size: number;
  has(id: string): boolean;
}

type JobReads = "get" | "list" | "running" | "runningOf";
type LetterReads = "get" | "look" | "groups" | "counts" | "countOf";

/** Tables of a ledger's store; one that nodes share keeps its place in the log in one more. */
export const LEDGER_TABLES_MAX = 16;
/** Replays that one transaction takes out. */
const LOT_REPLAYS_MAX = 1_000;

/** Opens the ledger of one machine, which is on disk before anything is told to be kept. */
export function openLedger(directory: string, logger: Logger): Ledger {
  const name = "The ledger";
  const store = openStore({ path: directory, tablesMax: LEDGER_TABLES_MAX, name, logger });
  return new Ledger(store, logger);
}

/**
 * Cursors and dead letters in a store of their own, which the ledger closes with itself.
 */
export class Ledger {
  readonly letters: Pick<LetterTables, LetterReads>;
  readonly jobs: Pick<JobTables, JobReads>;
  /** Resolves once letters that an earlier version stored are counted and grouped. */
  readonly counted: Promise<void>;
  readonly #store: Store;
  readonly #tables: LetterTables;
  readonly #jobs: JobTables;
  readonly #lanes: Table<LaneRecord, string>;
  /** [destination, letter] → replay. */
  readonly #replays: Table<RequeuedLetter, PairKey>;
  /**
   * For each destination: all replays up to the id `last` are in `busy`, and need not be looked at
   * again.
   */
  readonly #given = new Map<string, { busy: IdSet; last: string }>();
  readonly #commits: GroupCommit<LaneChange>;
  readonly #claims: LedgerClaims;
  #stopListening = () => {};
  #claim: { id: string; ears: ClaimListener } | undefined;
  /** Destinations with jobs that ran when others last changed which do. */
  #replayed = new Set<string>();
  #closing = false;

  constructor(store: Store, logger: Logger) {
    this.#store = store;
    this.#commits = new GroupCommit({
      write: (changes, number) => this.#write(changes, number),
      onLost: () => this.#claim?.ears.onLost(),
      logger,
    });
    this.#claims = new LedgerClaims(store);
    this.#lanes = this.#store.table("lanes");
    this.#replays = this.#store.table("replays");
    this.#tables = new LetterTables(this.#store);
    this.letters = this.#tables;
    this.#jobs = new JobTables(this.#store);
    this.jobs = this.#jobs;
    // When counting fails, which the store reports, the next change counts first.
    const counting = this.#tables.isCounted ? Promise.resolve() : this.#change(() => {});
    this.counted = counting.then(() => this.#regroup()).catch(() => {});
  }

  /**
   * Takes a shared ledger for the lanes of this node. Once it resolves, all that the lanes of other
   * nodes wrote can be read, and these write nothing more. A ledger is claimed once at most, before
   * it has lanes; that of one machine never.
   */
  async claim(node: string, ears: ClaimListener): Promise<void> {
    const id = crypto.randomUUID();
    await this.#change(() => this.#claims.put(node, id));
    this.#claim = { id, ears };
    this.#stopListening = this.#store.listen((tables) => this.#heard(tables));
    this.#replayed = this.#jobs.destinations();
    // Another node may have been quicker than this answer.
    this.#heard(new Set([OWNERS]));
  }

  /** Whether it was claimed, since other nodes have it too. */
  get isShared(): boolean {
    return this.#claim !== undefined;
  }

  owner(): LedgerOwner | undefined {
    return this.#claims.owner();
  }

  lane(destinationId: string): LaneRecord | undefined {
    return this.#lanes.get(destinationId);
  }

  /** The records of all lanes. */
  lanes(): LaneRecord[] {
    return [...this.#lanes.getRange({})].map(({ value }) => value);
  }

  /** Destinations of which the ledger holds anything. */
  destinations(): Set<string> {
    const lanes = new Set<string>(this.#lanes.getKeys());
    return lanes.union(this.#tables.destinations()).union(firstKeys(this.#replays));
  }

  /** A lane has something to write. */
  schedule(committer: LaneCommitSource): void {
    this.#commits.schedule(committer);
  }

  /**
   * The oldest replays of a destination that are not in `busy`; the caller puts them there. None
   * beyond the letter `end`.
   */
  replays(
    destinationId: string,
    busy: IdSet,
    count: number,
    { charsMax = Number.POSITIVE_INFINITY, end = "" } = {},
  ): RequeuedLetter[] {
    const given = this.#given.get(destinationId);
    const after = given?.busy === busy ? given.last : "";
    const waiting = Iterator.from(this.#replays.getKeys(keyRange(destinationId, after)))
      .filter(([, id]) => !busy.has(id) && (end === "" || id <= end))
      .map((key) => this.#replays.get(key))
      .filter((replay) => replay !== undefined)
      .take(count);
    const replays = takeChars(charsMax, ({ letter }) => letterChars(letter), waiting);
    const last = replays.at(-1)?.letter.id;
    if (last !== undefined && busy.size > 0) this.#given.set(destinationId, { busy, last });
    return replays;
  }

  /**
   * Moves dead letters to the replays of their lanes: the first `done` of `ids`, as many as one
   * transaction should. Returns the destinations of the letters that were found.
   */
  async replay(workspaceId: string, ids: readonly string[], now: number) {
    const { taken, done } = await this.#change(() => {
      const moved = this.#tables.take(workspaceId, ids);
      for (const letter of moved.taken) {
        this.#replays.put([letter.destinationId, letter.id], { letter, replayedAt: now });
      }
      return moved;
    });
    this.#replaysCame(taken);
    return { destinationIds: taken.map((letter) => letter.destinationId), done };
  }

  /** Brings a job over dead letters further, by up to `count` of them; see `moveLetters`. */
  async moveLetters(
    workspaceId: string,
    id: string,
    count: number,
    now: number,
  ): Promise<MovedLetters> {
    const moved = await this.#change(() => {
      const moved = moveLetters(this.#tables, this.#jobs, { workspaceId, id, count, now });
      for (const replay of moved.replays) {
        this.#replays.put([replay.letter.destinationId, replay.letter.id], replay);
      }
      return moved;
    });
    this.#replaysCame(moved.replays.map(({ letter }) => letter));
    return moved;
  }

  /** Whether so many replays of a destination wait. */
  hasWaiting(destinationId: string, count: number): boolean {
    return [...this.#replays.getKeys(keyRange(destinationId, "", count))].length >= count;
  }

  /** Changes jobs that replay, in one transaction. */
  changeJobs<T>(apply: (jobs: JobTables) => T): Promise<T> {
    return this.#change(() => apply(this.#jobs));
  }

  /** As `replay`, but removes the letters for good. */
  async purge(workspaceId: string, ids: readonly string[]) {
    const { taken, done } = await this.#change(() => this.#tables.take(workspaceId, ids));
    return { purged: taken.length, done };
  }

  /** Drops the oldest letters of a destination, perhaps fewer than asked for. Returns how many. */
  dropOldest(of: LetterOwner, oldest: DropRange): Promise<number> {
    return this.#change(() => this.#tables.dropOldest(of, oldest));
  }

  /**
   * Forgets a lane, with `letters` also its dead letters and replays. Returns how many letters were
   * dropped.
   */
  async remove(destinationId: string, letters: boolean): Promise<number> {
    await this.#change(() => {
      // A node that was replaced may not have heard that the destination is connected again.
      if (this.#claim !== undefined) this.#claims.expect(this.#claim.id);
      this.#lanes.remove(destinationId);
    });
    this.#given.delete(destinationId);
    if (!letters) return 0;
    while ((await this.#change(() => this.#dropReplays(destinationId))) > 0);
    let dropped = 0;
    const counts = [...this.#tables.counts()].filter((it) => it.destinationId === destinationId);
    for (const of of counts) {
      let rest: number;
      do {
        const { dropped: lot, left } = await this.#change(() => this.#tables.dropAll(of));
        dropped += lot;
        rest = left;
      } while (rest > 0);
    }
    return dropped;
  }

  /** Resolves once all that was answered before the call, by whichever node, can be read here. */
  current(): Promise<void> {
    return this.#store.catchUp();
  }

  /** Why cursors and dead letters are not written at the moment; undefined while they are. */
  trouble(): string | undefined {
    return this.#store.trouble();
  }

  /** Writes what is scheduled, if the disk takes it, then closes. */
  async close(): Promise<void> {
    this.#closing = true;
    await this.#commits.close();
    this.#stopListening();
    await this.#store.close();
  }

  async #write(changes: readonly LaneChange[], number: number): Promise<void> {
    const put = () => {
      for (const change of changes) this.#put(change);
    };
    const claim = this.#claim;
    const commit = claim === undefined ? put : () => this.#claims.once(claim.id, number, put);
    await this.#change(commit, { allowStale: true });
  }

  #put({ destinationId, record, letters, replayed, jobs = [] }: LaneChange): void {
    this.#lanes.put(destinationId, record);
    for (const progress of jobs) this.#jobs.advance(progress);
    for (const id of replayed) this.#replays.remove([destinationId, id]);
    for (const letter of letters) this.#tables.put(letter);
  }

  /** Others have written to these tables. */
  #heard(tables: ReadonlySet<string>): void {
    const claim = this.#claim;
    if (claim === undefined || this.#commits.isClosed) return;
    if (tables.has(OWNERS) && this.owner()?.claim !== claim.id) this.#commits.lose();
    else if (tables.has("replays")) {
      this.#given.clear();
      claim.ears.onReplays(firstKeys(this.#replays));
    }
    if (!this.#commits.isClosed && tables.has(RUNNING)) {
      const before = this.#replayed;
      this.#replayed = this.#jobs.destinations();
      claim.ears.onReplays(before.union(this.#replayed));
    }
  }

  #replaysCame(letters: readonly StoredLetter[]): void {
    for (const { destinationId, id } of letters) {
      const given = this.#given.get(destinationId);
      if (given !== undefined && id <= given.last) this.#given.delete(destinationId);
    }
  }

  #dropReplays(destinationId: string): number {
    const keys = [...this.#replays.getKeys(keyRange(destinationId, "", LOT_REPLAYS_MAX))];
    for (const key of keys) this.#replays.remove(key);
    return keys.length;
  }

  async #regroup(): Promise<void> {
    if (this.#tables.groups.reached === undefined) return;
    while (!this.#closing && (await this.#change(() => this.#tables.regroup())));
  }

  #change<T>(apply: () => T, options?: ChangeOptions): Promise<T> {
    return this.#store.change(() => {
      this.#tables.recount();
      return apply();
    }, options);
  }
}
