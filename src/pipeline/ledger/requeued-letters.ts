import type { Store } from "../../store/store.ts";
import type { Table } from "../../store/table.ts";
import type { RequeuedLetter, StoredLetter } from "../model/dead-letter.ts";
import { firstKeys, keyRange, type PairKey } from "./letter-keys.ts";
import { letterChars, takeChars } from "./letter-tables.ts";

/** Ids of dead letters that are in flight again. */
export interface IdSet {
  readonly size: number;
  has(id: string): boolean;
}

/** Bounds of one read of requeued letters. */
export interface RequeuedBounds {
  charsMax?: number;
  /** The last letter to read. */
  last?: string | undefined;
}

/** Name of the table that holds the letters. */
export const REQUEUED = "replays";
/** Letters that one transaction removes. */
const DROP_LETTERS_MAX = 1_000;

/** Dead letters that wait in a store to be sent again. */
export class RequeuedLetters {
  /** [destination, letter] → letter. */
  readonly #letters: Table<RequeuedLetter, PairKey>;
  /** For each destination: all letters up to the id `last` are in `inFlight`, and are skipped. */
  readonly #skipped = new Map<string, { inFlight: IdSet; last: string }>();

  constructor(store: Store) {
    this.#letters = store.table(REQUEUED);
  }

  destinations(): Set<string> {
    return firstKeys(this.#letters);
  }

  /** Whether at least `count` letters of a destination wait. */
  hasAtLeast(destinationId: string, count: number): boolean {
    return [...this.#letters.getKeys(keyRange(destinationId, "", count))].length >= count;
  }

  /** The oldest letters of a destination that are not in `inFlight`; the caller adds them there. */
  oldest(
    destinationId: string,
    inFlight: IdSet,
    count: number,
    { charsMax = Number.POSITIVE_INFINITY, last }: RequeuedBounds = {},
  ): RequeuedLetter[] {
    const skipped = this.#skipped.get(destinationId);
    const after = skipped?.inFlight === inFlight ? skipped.last : "";
    const waiting = Iterator.from(this.#letters.getKeys(keyRange(destinationId, after)))
      .filter(([, id]) => !inFlight.has(id) && (last === undefined || id <= last))
      .map((key) => this.#letters.get(key))
      .filter((letter) => letter !== undefined)
      .take(count);
    const letters = takeChars(charsMax, ({ letter }) => letterChars(letter), waiting);
    const end = letters.at(-1)?.letter.id;
    if (end !== undefined && inFlight.size > 0) {
      this.#skipped.set(destinationId, { inFlight, last: end });
    }
    return letters;
  }

  /** Adds a letter. Only inside a change, like `remove` and `drop`. */
  put(requeued: RequeuedLetter): void {
    this.#letters.put([requeued.letter.destinationId, requeued.letter.id], requeued);
  }

  remove(destinationId: string, id: string): void {
    this.#letters.remove([destinationId, id]);
  }

  /** Removes letters of a destination, as many as one transaction should. Returns how many. */
  drop(destinationId: string): number {
    const keys = [...this.#letters.getKeys(keyRange(destinationId, "", DROP_LETTERS_MAX))];
    for (const key of keys) this.#letters.remove(key);
    return keys.length;
  }

  /**
   * Reads letters from the start again where some were added; call after the change is committed.
   */
  added(letters: readonly StoredLetter[]): void {
    for (const { destinationId, id } of letters) {
      const skipped = this.#skipped.get(destinationId);
      if (skipped !== undefined && id <= skipped.last) this.#skipped.delete(destinationId);
    }
  }

  /**
   * Reads letters from the start again: of a destination, or of all when others have changed them.
   */
  rescan(destinationId?: string): void {
    if (destinationId === undefined) this.#skipped.clear();
    else this.#skipped.delete(destinationId);
  }
}
