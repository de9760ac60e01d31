import type { Positions } from "../../catalog/model.ts";
import { ApiError } from "../../errors.ts";
import type { Logger } from "../../observe/log.ts";
import { openStore, type Store } from "../../store/store.ts";
import type { Table } from "../../store/table.ts";
import { firstsOf, type Owner, type Pair, within } from "../dead-letters/keys.ts";
import {
  charsOf,
  DeadLetterTables,
  type Oldest,
  type StoredLetter,
  upTo,
} from "../dead-letters/tables.ts";
import type { CursorRecord } from "../reading/cursor.ts";

/** A gathered delivery that may be under way: written before it begins, gone when it has ended. */
export interface Sealed {
  name: string;
  /** By log: records below that are pending are of this delivery. */
  ends: Positions;
  /** So are replays up to this letter. */
  letter?: string;
}

/** A lane's durable state. */
export interface LaneRecord {
  sealed?: Sealed;
  logs: Record<string, CursorRecord>;
  /**
   * Connections whose records are taken up to `next`: id → where the connection's live window
   * starts.
   */
  known: Record<string, Positions>;
}

/** A dead letter that is to be sent again. */
export interface Replay {
  letter: StoredLetter;
  replayedAt: number;
}

/** What one lane wants to have written, all or nothing. */
export interface LaneChange {
  destinationId: string;
  record: LaneRecord;
  letters: readonly StoredLetter[];
  /** Letter ids of replays that have settled. */
  replayed: readonly string[];
}

/** A lane, as the ledger sees it. */
export interface Committer {
  /** What is new since the last call; undefined when nothing is. */
  collect(): LaneChange | undefined;
  /** The change is on disk. */
  committed(change: LaneChange): void;
}

/** Ids of replays that are in flight. */
export interface Busy {
  readonly size: number;
  has(id: string): boolean;
}

type LetterReads = "get" | "list" | "listOf" | "listIn" | "ids" | "groups" | "counts" | "countOf";

const TABLES_MAX = 8;
const failureWaitMs = 1_000;
/** Replays that one transaction takes out. */
const LOT_REPLAYS_MAX = 1_000;

/**
 * Cursors and dead letters in an LMDB environment of their own. Lanes that have something to write
 * call `schedule`; one transaction writes for all of them, and the next transaction starts as soon
 * as that one is on disk (natural group commit).
 */
export class Ledger {
  readonly letters: Pick<DeadLetterTables, LetterReads>;
  /** Resolves once letters that an earlier version stored are counted and grouped. */
  readonly counted: Promise<void>;
  readonly #store: Store;
  readonly #tables: DeadLetterTables;
  readonly #lanes: Table<LaneRecord, string>;
  /** [destination, letter] → replay. */
  readonly #replays: Table<Replay, Pair>;
  /**
   * For each destination: all replays up to the id `last` are in `busy`, and need not be looked at
   * again.
   */
  readonly #given = new Map<string, { busy: Busy; last: string }>();
  readonly #dirty = new Set<Committer>();
  readonly #logger: Logger;
  #flushing: Promise<void> | undefined;
  #closing = false;
  #closed = false;

  constructor(directory: string, logger: Logger) {
    this.#logger = logger;
    this.#store = openStore({ path: directory, tablesMax: TABLES_MAX, name: "The ledger", logger });
    this.#lanes = this.#store.table("lanes");
    this.#replays = this.#store.table("replays");
    this.#tables = new DeadLetterTables(this.#store);
    this.letters = this.#tables;
    // When counting fails, which the store reports, the next change counts first.
    const counting = this.#tables.isCounted ? Promise.resolve() : this.#change(() => {});
    this.counted = counting.then(() => this.#regroup()).catch(() => {});
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
    return lanes.union(this.#tables.destinations()).union(firstsOf(this.#replays));
  }

  /** A lane has something to write. */
  schedule(committer: Committer): void {
    if (this.#closed) return;
    this.#dirty.add(committer);
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined;
      const [next] = this.#dirty;
      if (next !== undefined) this.schedule(next);
    });
  }

  /**
   * The oldest replays of a destination that are not in `busy`; the caller puts them there. None
   * beyond the letter `end`.
   */
  replays(
    destinationId: string,
    busy: Busy,
    count: number,
    { charsMax = Number.POSITIVE_INFINITY, end = "" } = {},
  ): Replay[] {
    const given = this.#given.get(destinationId);
    const after = given?.busy === busy ? given.last : "";
    const waiting = Iterator.from(this.#replays.getKeys(within(destinationId, after)))
      .filter(([, id]) => !busy.has(id) && (end === "" || id <= end))
      .map((key) => this.#replays.get(key))
      .filter((replay) => replay !== undefined)
      .take(count);
    const replays = upTo(charsMax, ({ letter }) => charsOf(letter), waiting);
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
    for (const { destinationId, id } of taken) {
      const given = this.#given.get(destinationId);
      if (given !== undefined && id <= given.last) this.#given.delete(destinationId);
    }
    return { destinationIds: taken.map((letter) => letter.destinationId), done };
  }

  /** As `replay`, but removes the letters for good. */
  async purge(workspaceId: string, ids: readonly string[]) {
    const { taken, done } = await this.#change(() => this.#tables.take(workspaceId, ids));
    return { purged: taken.length, done };
  }

  /** Drops the oldest letters of a destination, perhaps fewer than asked for. Returns how many. */
  dropOldest(of: Owner, oldest: Oldest): Promise<number> {
    return this.#change(() => this.#tables.dropOldest(of, oldest));
  }

  /**
   * Forgets a lane, with `letters` also its dead letters and replays. Returns how many letters were
   * dropped.
   */
  async remove(destinationId: string, letters: boolean): Promise<number> {
    await this.#change(() => this.#lanes.remove(destinationId));
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

  /** Why cursors and dead letters are not written at the moment; undefined while they are. */
  trouble(): string | undefined {
    return this.#store.trouble();
  }

  /** Writes what is scheduled, if the disk takes it, then closes. */
  async close(): Promise<void> {
    this.#closing = true;
    while (this.#flushing !== undefined) await this.#flushing;
    this.#closed = true;
    await this.#store.close();
  }

  async #flush(): Promise<void> {
    // One turn of the event loop, so that all lanes that were woken together come along.
    await new Promise((resolve) => setImmediate(resolve));
    const committers = [...this.#dirty];
    this.#dirty.clear();
    const changes = committers.flatMap((committer) => {
      const change = this.#collect(committer);
      return change === undefined ? [] : [{ committer, change }];
    });
    if (changes.length === 0) {
      if (this.#dirty.size > 0) await this.#pause();
      return;
    }
    while (!(await this.#commit(changes.map(({ change }) => change)))) {
      if (this.#closing) {
        // Nothing may be written after a failed change: a later cursor would pass over its dead
        // letters.
        this.#closed = true;
        return;
      }
      await this.#pause();
    }
    for (const { committer, change } of changes) committer.committed(change);
  }

  /**
   * Asks a lane for its change; undefined when the store is being opened again, since a lane
   * compares with what is stored.
   */
  #collect(committer: Committer): LaneChange | undefined {
    try {
      return committer.collect();
    } catch (error) {
      if (!(error instanceof ApiError) && !isOfLmdb(error)) throw error;
      if (!this.#closing) this.#dirty.add(committer);
      return undefined;
    }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, failureWaitMs));
  }

  async #commit(changes: readonly LaneChange[]): Promise<boolean> {
    try {
      await this.#change(() => {
        for (const change of changes) this.#put(change);
      });
      return true;
    } catch (error) {
      // Most likely the disk is full. The lanes fill up and wait; nothing is lost.
      const isTold = error instanceof ApiError;
      if (!isTold) this.#logger.error({ err: error }, "Cursors and dead letters cannot be kept");
      return false;
    }
  }

  #put({ destinationId, record, letters, replayed }: LaneChange): void {
    this.#lanes.put(destinationId, record);
    for (const id of replayed) this.#replays.remove([destinationId, id]);
    for (const letter of letters) this.#tables.put(letter);
  }

  #dropReplays(destinationId: string): number {
    const keys = [...this.#replays.getKeys(within(destinationId, "", LOT_REPLAYS_MAX))];
    for (const key of keys) this.#replays.remove(key);
    return keys.length;
  }

  async #regroup(): Promise<void> {
    if (this.#tables.groups.reached === undefined) return;
    while (!this.#closing && (await this.#change(() => this.#tables.regroup())));
  }

  #change<T>(apply: () => T): Promise<T> {
    return this.#store.change(() => {
      this.#tables.recount();
      return apply();
    });
  }
}

/**
 * Whether LMDB threw the error, which then has LMDB's number: an environment that LMDB has given up
 * cannot be read.
 */
function isOfLmdb(error: unknown): boolean {
  return error instanceof Error && "code" in error && typeof error.code === "number";
}
