import type { Positions } from "../catalog/model.ts";
import { ApiError } from "../errors.ts";
import { DEAD_LETTERS_PAGE_CHARS_MAX } from "../limits.ts";
import type { Logger } from "../observe/log.ts";
import { openStore, type Store } from "../store/store.ts";
import type { Table } from "../store/table.ts";
import type { CursorRecord } from "./cursor.ts";
import type { DeadLetter } from "./pipeline.ts";

/** A lane's durable state. */
export interface LaneRecord {
  logs: Record<string, CursorRecord>;
  /** Connections whose records are taken up to `next`: id → where their live window starts. */
  known: Record<string, Positions>;
}

/** A dead letter with what a replay needs. Events are JSON texts, as they were. */
export interface StoredLetter extends Omit<DeadLetter, "event"> {
  /** The event as it entered the stage that failed. */
  text: string;
  /** The event as it came, when that is another text. */
  original?: string;
  /** Program that made `text` out of `original`. */
  programId?: string;
  user: string;
  type: string;
  name?: string;
}

/** A letter on its way again. */
export interface Replay {
  letter: StoredLetter;
  replayedAt: number;
}

/** What one lane wants to have written, all or nothing. */
export interface LaneChange {
  destinationId: string;
  record: LaneRecord;
  letters: readonly StoredLetter[];
  /** Replays that have settled, by letter id. */
  replayed: readonly string[];
}

/** A lane, as the ledger sees it. */
export interface Committer {
  /** What is new since the last call; undefined when nothing is. */
  collect(): LaneChange | undefined;
  /** The change is on disk. */
  committed(change: LaneChange): void;
}

const TABLES_MAX = 8;
const failureWaitMs = 1_000;
type Pair = [string, string];

/**
 * Cursors and dead letters in an LMDB environment of their own. Lanes that have something to
 * write say so; one transaction writes it for all of them, and the next starts as soon as that
 * one is on disk (natural group commit).
 */
export class Ledger {
  readonly #store: Store;
  readonly #lanes: Table<LaneRecord, string>;
  readonly #letters: Table<StoredLetter, Pair>;
  /** [destination, letter] → workspace. */
  readonly #byDestination: Table<string, Pair>;
  /** [destination, letter] → replay. */
  readonly #replays: Table<Replay, Pair>;
  /** Workspace → destination → dead letters. */
  readonly #counts = new Map<string, Map<string, number>>();
  readonly #dirty = new Set<Committer>();
  readonly #logger: Logger;
  #flushing: Promise<void> | undefined;
  #closing = false;
  #closed = false;

  constructor(directory: string, logger: Logger) {
    this.#logger = logger;
    this.#store = openStore({ path: directory, tablesMax: TABLES_MAX, name: "The ledger", logger });
    this.#lanes = this.#store.table("lanes");
    this.#letters = this.#store.table("letters");
    this.#byDestination = this.#store.table("letters-by-destination");
    this.#replays = this.#store.table("replays");
    for (const { key, value } of this.#byDestination.getRange({})) this.#count(value, key[0], 1);
  }

  lane(destinationId: string): LaneRecord | undefined {
    return this.#lanes.get(destinationId);
  }

  /** Of all destinations. */
  lanes(): LaneRecord[] {
    return [...this.#lanes.getRange({})].map(({ value }) => value);
  }

  /** Destinations that the ledger holds anything for. */
  destinations(): Set<string> {
    const ids = new Set<string>(this.#lanes.getKeys());
    for (const db of [this.#byDestination, this.#replays]) {
      for (let id = firstOf(db); id !== undefined; id = firstOf(db, id)) ids.add(id);
    }
    return ids;
  }

  /** Says that a lane has something to write. */
  schedule(committer: Committer): void {
    if (this.#closed) return;
    this.#dirty.add(committer);
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined;
      const [next] = this.#dirty;
      if (next !== undefined) this.schedule(next);
    });
  }

  letter(workspaceId: string, id: string): StoredLetter | undefined {
    return this.#letters.get([workspaceId, id]);
  }

  /** Oldest first, up to `count` and up to what one page holds; one goes always. */
  letters(workspaceId: string, after: string, count: number): StoredLetter[] {
    const range = this.#letters.getRange(within(workspaceId, after, count));
    const letters = range.map((entry) => entry.value);
    return upTo(DEAD_LETTERS_PAGE_CHARS_MAX, charsOf, letters);
  }

  /** As `letters`, of one destination. */
  lettersOf(
    workspaceId: string,
    destinationId: string,
    after: string,
    count: number,
  ): StoredLetter[] {
    const range = this.#byDestination.getRange(within(destinationId, after, count));
    const letters = Iterator.from(range)
      .filter((entry) => entry.value === workspaceId)
      .map((entry) => this.#letters.get([workspaceId, entry.key[1]]))
      .filter((letter) => letter !== undefined);
    return upTo(DEAD_LETTERS_PAGE_CHARS_MAX, charsOf, letters);
  }

  /** Dead letters of each workspace that has or had some. */
  counts(): [workspaceId: string, count: number][] {
    return [...this.#counts.keys()].map((id) => [id, this.countOf(id)]);
  }

  /** Dead letters of a workspace, or of its destination alone. */
  countOf(workspaceId: string, destinationId?: string): number {
    const counts = this.#counts.get(workspaceId);
    if (counts === undefined) return 0;
    if (destinationId !== undefined) return counts.get(destinationId) ?? 0;
    return counts.values().reduce((sum, count) => sum + count, 0);
  }

  /** The oldest replays of a destination that are not in `busy`. */
  replays(
    destinationId: string,
    busy: { has(id: string): boolean },
    count: number,
    charsMax = Number.POSITIVE_INFINITY,
  ): Replay[] {
    const range = this.#replays.getRange(within(destinationId));
    const waiting = Iterator.from(range).filter(({ key }) => !busy.has(key[1]));
    const replays = waiting.map(({ value }) => value).take(count);
    return upTo(charsMax, ({ letter }) => charsOf(letter), replays);
  }

  /** Moves letters to their lanes' replays. Returns their destinations. */
  async replay(workspaceId: string, ids: readonly string[], now: number): Promise<string[]> {
    const dropped = await this.#store.change(() => {
      const letters = this.#drop(workspaceId, ids);
      for (const letter of letters) {
        this.#replays.put([letter.destinationId, letter.id], { letter, replayedAt: now });
      }
      return letters;
    });
    this.#uncount(dropped);
    return dropped.map((letter) => letter.destinationId);
  }

  async purge(workspaceId: string, ids: readonly string[]): Promise<number> {
    const dropped = await this.#store.change(() => this.#drop(workspaceId, ids));
    this.#uncount(dropped);
    return dropped.length;
  }

  /** Forgets a lane; `letters`: also what it left behind. Returns how many letters went. */
  async remove(destinationId: string, letters: boolean): Promise<number> {
    const dropped = await this.#store.change(() => {
      this.#lanes.remove(destinationId);
      if (!letters) return [];
      const replays = [...this.#replays.getKeys(within(destinationId))];
      for (const key of replays) this.#replays.remove(key);
      const owned = [...this.#byDestination.getRange(within(destinationId))];
      return owned.flatMap(({ key, value }) => this.#drop(value, [key[1]]));
    });
    this.#uncount(dropped);
    return dropped.length;
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
    // One turn, so that all lanes that were woken together come along.
    await new Promise((resolve) => setImmediate(resolve));
    const committers = [...this.#dirty];
    this.#dirty.clear();
    const changes = committers.flatMap((committer) => {
      const change = committer.collect();
      return change === undefined ? [] : [{ committer, change }];
    });
    if (changes.length === 0) return;
    while (!(await this.#commit(changes.map(({ change }) => change)))) {
      if (this.#closing) {
        // Nothing may be written after this: a later cursor would pass over these letters.
        this.#closed = true;
        this.#dirty.clear();
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, failureWaitMs));
    }
    for (const { committer, change } of changes) committer.committed(change);
  }

  async #commit(changes: readonly LaneChange[]): Promise<boolean> {
    try {
      await this.#store.change(() => {
        for (const change of changes) this.#put(change);
      });
      for (const { letters } of changes) {
        for (const letter of letters) this.#count(letter.workspaceId, letter.destinationId, 1);
      }
      return true;
    } catch (error) {
      // A full disk, most likely. The lanes' windows fill and they wait; nothing is lost.
      const isTold = error instanceof ApiError;
      if (!isTold) this.#logger.error({ err: error }, "Cursors and dead letters cannot be kept");
      return false;
    }
  }

  #put({ destinationId, record, letters, replayed }: LaneChange): void {
    this.#lanes.put(destinationId, record);
    for (const id of replayed) this.#replays.remove([destinationId, id]);
    for (const letter of letters) {
      this.#letters.put([letter.workspaceId, letter.id], letter);
      this.#byDestination.put([destinationId, letter.id], letter.workspaceId);
    }
  }

  /** Takes letters out; unknown ids and those of other workspaces are skipped. */
  #drop(workspaceId: string, ids: readonly string[]): StoredLetter[] {
    const dropped: StoredLetter[] = [];
    for (const id of new Set(ids)) {
      const letter = this.#letters.get([workspaceId, id]);
      if (letter === undefined) continue;
      this.#letters.remove([workspaceId, id]);
      this.#byDestination.remove([letter.destinationId, id]);
      dropped.push(letter);
    }
    return dropped;
  }

  #uncount(letters: readonly StoredLetter[]): void {
    for (const letter of letters) this.#count(letter.workspaceId, letter.destinationId, -1);
  }

  #count(workspaceId: string, destinationId: string, by: number): void {
    const counts = this.#counts.get(workspaceId) ?? new Map<string, number>();
    this.#counts.set(workspaceId, counts);
    const count = (counts.get(destinationId) ?? 0) + by;
    if (count > 0) counts.set(destinationId, count);
    else counts.delete(destinationId);
  }
}

/** The first items, until together they have so many characters; one goes always. */
function upTo<T>(charsMax: number, sizeOf: (item: T) => number, items: Iterable<T>): T[] {
  const found: T[] = [];
  let chars = 0;
  for (const item of items) {
    found.push(item);
    chars += sizeOf(item);
    if (chars >= charsMax) break;
  }
  return found;
}

function charsOf({ text, original = "" }: StoredLetter): number {
  return text.length + original.length;
}

/** Sorts after every id: ids are ASCII. */
const last = "\uffff";

/** The keys that start with `first`, after `after`. A new object each time: lmdb writes into it. */
function within(first: string, after = "", limit = Number.MAX_SAFE_INTEGER) {
  const start: Pair = [first, after];
  const end: Pair = [first, last];
  return { start, end, exclusiveStart: true, limit };
}

/** The first destination of an index, or the first one after `id`. */
function firstOf(db: Table<unknown, Pair>, id?: string): string | undefined {
  const start: Pair = id === undefined ? ["", ""] : [id, last];
  const [key] = [...db.getKeys({ start, limit: 1 })];
  return key?.[0];
}
