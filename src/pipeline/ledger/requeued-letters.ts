import type { Store } from "../../store/store.ts";
import type { Table } from "../../store/table.ts";
import type { RequeuedLetter, StoredLetter } from "../model/dead-letter.ts";
import { firstKeys, keyRange, type PairKey } from "./letter-keys.ts";
import { letterChars, takeChars } from "./letter-tables.ts";

/** Bounds of one read of requeued dead letters. */
interface RequeuedBounds {
  charsMax?: number;
  /** Highest letter id to read; no bound when absent. */
  last?: string | undefined;
}

/** Name of the table that holds the requeued dead letters. */
export const REQUEUED = "replays";
/** Largest number of requeued letters of a deleted destination that one transaction drops. */
const DROP_LETTERS_MAX = 1_000;

/** Stores the requeued dead letters until they have been sent again and have an outcome. */
export class RequeuedLetters {
  /** [destination id, letter id] → requeued dead letter. */
  readonly #letters: Table<RequeuedLetter, PairKey>;
  /**
   * Destination id → place at which the next read of its letters begins: after the letter with the
   * id `last`. All letters up to this one are being sent; their ids are in the set `inFlight`.
   */
  readonly #skipped = new Map<string, { inFlight: ReadonlySet<string>; last: string }>();

  constructor(store: Store) {
    this.#letters = store.table(REQUEUED);
  }

  destinations(): Set<string> {
    return firstKeys(this.#letters);
  }

  has(destinationId: string, id: string): boolean {
    return this.#letters.doesExist([destinationId, id]);
  }

  /** Whether at least `count` requeued dead letters of a destination are stored. */
  hasAtLeast(destinationId: string, count: number): boolean {
    return [...this.#letters.getKeys(keyRange(destinationId, "", count))].length >= count;
  }

  /**
   * Returns a destination's oldest requeued letters, without those in `inFlight` (ids of letters
   * that are being sent). The caller must add the returned letters' ids to this set, because the
   * next call may begin after them.
   */
  oldest(
    destinationId: string,
    inFlight: ReadonlySet<string>,
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

  /** Stores a requeued letter. This method and `remove` must be called inside a transaction. */
  put(requeued: RequeuedLetter): void {
    this.#letters.put([requeued.letter.destinationId, requeued.letter.id], requeued);
  }

  remove(destinationId: string, id: string): void {
    this.#letters.remove([destinationId, id]);
  }

  /** Returns up to `DROP_LETTERS_MAX` requeued dead letters of a destination. */
  some(destinationId: string): RequeuedLetter[] {
    const range = keyRange(destinationId, "", DROP_LETTERS_MAX);
    return [...this.#letters.getRange(range)].map(({ value }) => value);
  }

  /**
   * Makes the next read return the newly requeued `letters`, even those with lower ids than letters
   * that were read before. Call it once the transaction that stored them is committed.
   */
  added(letters: readonly StoredLetter[]): void {
    for (const { destinationId, id } of letters) {
      const skipped = this.#skipped.get(destinationId);
      if (skipped !== undefined && id <= skipped.last) this.#skipped.delete(destinationId);
    }
  }

  /**
   * Makes the next read of a destination's letters begin at the oldest letter again. Without an id,
   * does this for every destination. Needed after other nodes have changed the letters.
   */
  rescan(destinationId?: string): void {
    if (destinationId === undefined) this.#skipped.clear();
    else this.#skipped.delete(destinationId);
  }
}
