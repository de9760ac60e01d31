import { STEP_MS_MIN } from "../../observe/ages.ts";
import type { Store } from "../../store/store.ts";
import type { Table } from "../../store/table.ts";
import type {
  LetterFilter,
  LetterOwner,
  LetterScan,
  LetterScanResult,
  NewLetter,
  StoredLetter,
} from "../model/dead-letter.ts";
import { isGroupOf, LetterGroups } from "./letter-groups.ts";
import { firstIdAt, firstKeys, keyRange, LAST_KEY, type PairKey } from "./letter-keys.ts";
import { responseIdOf } from "./letter-responses.ts";

/**
 * Total number of characters in the events of a page of dead letters at which the page ends. The
 * letter that reaches this number is the last one of the page.
 */
export const DEAD_LETTERS_PAGE_CHARS_MAX = 8 << 20;

/** Number of dead letters of one destination. */
export interface LetterCount extends LetterOwner {
  count: number;
}

/**
 * Dead letters of a destination to drop: the oldest ones, at most `count`, and only those with ids
 * below `before`.
 */
export interface DropRange {
  count: number;
  before?: string | undefined;
}

/** Total number of event characters at which a transaction takes no more dead letters. */
const LOT_CHARS_MAX = 8 << 20;
/** Largest number of dead letters that one transaction removes or requeues. */
const LOT_LETTERS_MAX = 1_000;
/** Largest number of dead letters that one call of `scan` reads. */
const SCAN_LETTERS_MAX = 1_000;
/**
 * Stores dead letters and their number for each destination. The numbers are stored because
 * counting a million letters at each start took 3 s and 1.9 GB.
 */
export class LetterTables {
  readonly #letters: Table<StoredLetter, PairKey>;
  /** [destination id, letter id] → workspace id. */
  readonly #byDestination: Table<string, PairKey>;
  /** [workspace id, destination id] → number of dead letters. */
  readonly #counts: Table<number, PairKey>;
  readonly groups: LetterGroups;

  constructor(store: Store) {
    this.groups = new LetterGroups(store);
    this.#letters = store.table("letters");
    this.#byDestination = store.table("letters-by-destination");
    this.#counts = store.table("letter-counts");
  }

  /**
   * Adds a dead letter. Does nothing if the letter is stored already, because a commit whose result
   * is unknown is repeated. Call this and all other methods that change data only inside a
   * transaction of the store.
   */
  put(letter: NewLetter): void {
    const { response, ...row } = letter;
    const { id, workspaceId, destinationId } = row;
    if (this.#letters.doesExist([workspaceId, id])) return;
    const hasText = response?.body !== undefined || response?.headers !== undefined;
    const stored = hasText ? { ...row, responseId: responseIdOf(response) } : row;
    this.#letters.put([workspaceId, id], stored);
    this.#byDestination.put([destinationId, id], workspaceId);
    this.groups.add(hasText ? letter : row);
    this.#count(workspaceId, destinationId, 1);
  }

  /**
   * Removes and returns the dead letters with the given `ids`. Handles only the first `done` ids,
   * as many as fit into one transaction. Ids for which the workspace has no letter count as
   * handled.
   */
  take(workspaceId: string, ids: readonly string[]): { taken: StoredLetter[]; done: number } {
    const taken: StoredLetter[] = [];
    let chars = 0;
    let done = 0;
    for (; done < ids.length && done < LOT_LETTERS_MAX && chars < LOT_CHARS_MAX; done++) {
      const letter = this.#letters.get([workspaceId, ids[done]!]);
      if (letter === undefined) continue;
      this.#remove(letter);
      taken.push(letter);
      chars += letterChars(letter);
    }
    for (const { destinationId } of taken) this.#count(workspaceId, destinationId, -1);
    return { taken, done };
  }

  /**
   * Removes up to `count` of a destination's oldest dead letters, but at most `LOT_LETTERS_MAX`.
   * Returns the number of removed letters.
   */
  dropOldest(
    { workspaceId, destinationId }: LetterOwner,
    { count, before = LAST_KEY }: DropRange,
  ): number {
    const range = keyRange(destinationId, "", Math.min(count, LOT_LETTERS_MAX));
    const keys = [...this.#byDestination.getKeys({ ...range, end: [destinationId, before] })];
    for (const [, id] of keys) this.#drop(workspaceId, destinationId, id);
    this.#count(workspaceId, destinationId, -keys.length);
    return keys.length;
  }

  get(workspaceId: string, id: string): StoredLetter | undefined {
    return this.#letters.get([workspaceId, id]);
  }

  /**
   * Returns the ids of letters that match a filter, oldest first. Reads at most `SCAN_LETTERS_MAX`
   * letters, so more may match even if the result is empty. `reached` is the id to continue after;
   * undefined when all letters were read.
   */
  scan(
    workspaceId: string,
    filter: LetterFilter,
    { count, ...scan }: LetterScan,
  ): LetterScanResult {
    const { reason, transformationVersionId } = filter;
    const readsLetters = reason !== undefined || transformationVersionId !== undefined;
    const ids: string[] = [];
    let seen = 0;
    let reached: string | undefined;
    for (const id of this.#idsWithin(workspaceId, filter, scan)) {
      if (ids.length >= count || seen >= SCAN_LETTERS_MAX) return { ids, seen, reached };
      seen += 1;
      reached = id;
      if (!readsLetters || isMeant(this.get(workspaceId, id), filter)) ids.push(id);
    }
    return { ids, seen, reached: undefined };
  }

  /**
   * Yields the ids of the letters in the filter's groups or destination, oldest first. Leaves out
   * ids outside of the filter's time range or of the scan's bounds.
   */
  *#idsWithin(
    workspaceId: string,
    filter: LetterFilter,
    { after, before, now }: Omit<LetterScan, "count">,
  ): Generator<string> {
    const { from = 0, to } = filter;
    const end = to === undefined ? LAST_KEY : firstIdAt(to);
    const ranges = [{ start: later(after, firstIdAt(from)), end: before < end ? before : end }];
    if (now !== undefined && before < end) {
      const future = later(before, firstIdAt(now + STEP_MS_MIN));
      ranges.push({ start: later(ranges[0]!.start, future), end });
    }
    for (const range of ranges) {
      for (const id of this.#idsOf(workspaceId, filter, range.start)) {
        if (id >= range.end) break;
        yield id;
      }
    }
  }

  #idsOf(workspaceId: string, filter: LetterFilter, after: string): Iterable<string> {
    const { destinationId } = filter;
    const groups = groupsOf(filter);
    if (groups !== undefined) return this.groups.lettersOfAll(workspaceId, groups, after);
    if (destinationId === undefined) {
      return Iterator.from(this.#letters.getKeys(keyRange(workspaceId, after))).map(([, id]) => id);
    }
    return Iterator.from(this.#byDestination.getRange(keyRange(destinationId, after)))
      .filter(({ value }) => value === workspaceId)
      .map(({ key }) => key[1]);
  }

  /**
   * Yields the number of dead letters for each destination that has any. With `owner`, the id of a
   * workspace, yields only destinations of this workspace.
   */
  *counts(owner?: string): Generator<LetterCount> {
    const range = owner === undefined ? {} : keyRange(owner);
    for (const { key, value: count } of this.#counts.getRange(range)) {
      const [workspaceId, destinationId] = key;
      // Development states before the first release have stored a row without destination.
      if (destinationId !== "") yield { workspaceId, destinationId, count };
    }
  }

  /**
   * Returns the number of letters in the groups that a filter names. If it names none, counts the
   * letters of its destination; without a destination, those of the workspace. Ignores the other
   * fields of the filter.
   */
  countOf(workspaceId: string, filter: LetterFilter = {}): number {
    const { destinationId } = filter;
    const counts = groupsOf(filter)?.map((id) => this.groups.get(workspaceId, id)?.count ?? 0);
    if (counts !== undefined) return counts.reduce((sum, count) => sum + count, 0);
    if (destinationId !== undefined) return this.#counts.get([workspaceId, destinationId]) ?? 0;
    let sum = 0;
    for (const { value } of this.#counts.getRange(keyRange(workspaceId))) sum += value;
    return sum;
  }

  /** Ids of the destinations that have dead letters. */
  destinations(): Set<string> {
    return firstKeys(this.#byDestination);
  }

  /** Whether a destination has dead letters. */
  hasLetters(destinationId: string): boolean {
    return this.ownerOf(destinationId) !== undefined;
  }

  /** Returns the workspace that owns a destination's dead letters; undefined if there are none. */
  ownerOf(destinationId: string): LetterOwner | undefined {
    const [first] = [...this.#byDestination.getRange(keyRange(destinationId, "", 1))];
    return first && { workspaceId: first.value, destinationId };
  }

  #drop(workspaceId: string, destinationId: string, id: string): void {
    const letter = this.#letters.get([workspaceId, id]);
    if (letter !== undefined) this.#remove(letter);
    else this.#byDestination.remove([destinationId, id]);
  }

  #remove(letter: StoredLetter): void {
    const { id, workspaceId, destinationId } = letter;
    this.#letters.remove([workspaceId, id]);
    this.#byDestination.remove([destinationId, id]);
    this.groups.remove(letter);
  }

  #count(workspaceId: string, destinationId: string, by: number): void {
    if (by === 0) return;
    const key: PairKey = [workspaceId, destinationId];
    const count = (this.#counts.get(key) ?? 0) + by;
    if (count > 0) this.#counts.put(key, count);
    else this.#counts.remove(key);
  }
}

/**
 * Returns values from the beginning of `values`. The last returned value is the one with which the
 * total size of the returned values reaches `charsMax`. Returns all values if their total size is
 * smaller.
 */
export function takeChars<T>(
  charsMax: number,
  sizeOf: (value: T) => number,
  values: Iterable<T>,
): T[] {
  const taken: T[] = [];
  let chars = 0;
  for (const value of values) {
    taken.push(value);
    chars += sizeOf(value);
    if (chars >= charsMax) break;
  }
  return taken;
}

const later = (one: string, other: string) => (one > other ? one : other);

/**
 * Returns the ids of the groups to which a filter restricts the letters; undefined if the filter
 * names no group.
 */
function groupsOf({ destinationId, groupId, groupIds }: LetterFilter): string[] | undefined {
  const named = groupIds ?? (groupId === undefined ? undefined : [groupId]);
  const ids = named && [...new Set(named)];
  return ids?.filter(
    (id) =>
      (groupId === undefined || id === groupId) &&
      (destinationId === undefined || isGroupOf(destinationId, id)),
  );
}

function isMeant(letter: StoredLetter | undefined, filter: LetterFilter): boolean {
  if (letter === undefined) return false;
  const { reason = "", transformationVersionId = letter.transformationVersionId } = filter;
  if (letter.transformationVersionId !== transformationVersionId) return false;
  return letter.reason.toLowerCase().includes(reason.toLowerCase());
}

export function letterChars({ text, original = "" }: StoredLetter): number {
  return text.length + original.length;
}
