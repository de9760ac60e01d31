import type { ShownAnswer } from "../../destinations/answers/receiver-answer.ts";
import type { Store } from "../../store/store.ts";
import type { Table } from "../../store/table.ts";
import type { PairKey } from "./letter-keys.ts";

/** Entry for a stored response of a receiver, in the row of a group of dead letters. */
export interface KeptResponse {
  id: string;
  /** Creation time of the dead letter with this response, in milliseconds since the epoch. */
  at: number;
  bytes: number;
}

/** Maximum number of different responses that are stored for a group of dead letters. */
const RESPONSES_OF_GROUP_MAX = 4;
/**
 * Minimum milliseconds between the latest response of a full group and a new one that replaces the
 * oldest. Without this minimum, a receiver that answers each event differently would cause one
 * write per dead letter.
 */
const REPLACED_AFTER_MS = 60_000;
/** Largest total size in bytes of a destination's stored responses, in one ledger. */
export const RESPONSES_OF_DESTINATION_BYTES_MAX = 512 << 10;
/** Largest total size in bytes of all stored responses, in one ledger. */
export const RESPONSES_BYTES_MAX = 64 << 20;
/**
 * Second part of a key whose value is a sum of bytes, in the table of responses. In the key of a
 * response, this part is the response's id, which is never empty.
 */
const SUM = "";

/**
 * Stores responses of receivers to events that became dead letters. It stores only a few for each
 * group of letters, because thousands of letters may have the same cause.
 */
export class LetterResponses {
  /**
   * [group id, response id] → response. [destination id, ""] → total bytes of the destination's
   * responses. ["", ""] → total bytes of all responses.
   */
  readonly #responses: Table<ShownAnswer | number, PairKey>;

  constructor(store: Store) {
    this.#responses = store.table("letter-responses");
  }

  /**
   * Stores a response for a group, in place of the oldest one if the group is full. Returns the
   * group's responses. Stores nothing if the group has an equal response, a limit of bytes would be
   * exceeded, or a full group's latest response is younger than `REPLACED_AFTER_MS`. Only for use
   * inside a transaction, like `drop`.
   */
  keep(
    group: { id: string; destinationId: string },
    kept: readonly KeptResponse[],
    { response, at }: { response: ShownAnswer; at: number },
  ): readonly KeptResponse[] {
    const id = responseIdOf(response);
    if (kept.some((known) => known.id === id)) return kept;
    const latest = Math.max(...kept.map((known) => known.at));
    const isFull = kept.length >= RESPONSES_OF_GROUP_MAX;
    if (isFull && at - latest < REPLACED_AFTER_MS) return kept;
    const bytes = Buffer.byteLength(JSON.stringify(response));
    const replaced = isFull ? kept.slice(0, 1) : [];
    const added = bytes - (replaced[0]?.bytes ?? 0);
    if (!this.#add(group.destinationId, added)) return kept;
    for (const old of replaced) this.#responses.remove([group.id, old.id]);
    this.#responses.put([group.id, id], response);
    return [...kept.slice(replaced.length), { id, at, bytes }];
  }

  /** Removes `kept`, all stored responses of a group that has no dead letter left. */
  drop(group: { id: string; destinationId: string }, kept: readonly KeptResponse[]): void {
    if (kept.length === 0) return;
    for (const { id } of kept) this.#responses.remove([group.id, id]);
    this.#add(group.destinationId, -kept.reduce((sum, { bytes }) => sum + bytes, 0));
  }

  /** Returns a stored response of a group. Without an `id`, returns undefined. */
  get(groupId: string, id = ""): ShownAnswer | undefined {
    const found = this.#responses.get([groupId, id]);
    return typeof found === "object" ? found : undefined;
  }

  /**
   * Adds `bytes` to the stored total of response bytes of a destination, and to that of all
   * destinations. A negative number reduces the totals. Returns false, and changes nothing, if an
   * increase would exceed a limit.
   */
  #add(destinationId: string, bytes: number): boolean {
    const own = this.#sum(destinationId) + bytes;
    const all = this.#sum("") + bytes;
    const isOver = own > RESPONSES_OF_DESTINATION_BYTES_MAX || all > RESPONSES_BYTES_MAX;
    if (bytes > 0 && isOver) return false;
    if (own > 0) this.#responses.put([destinationId, SUM], own);
    else this.#responses.remove([destinationId, SUM]);
    this.#responses.put(["", SUM], Math.max(0, all));
    return true;
  }

  #sum(destinationId: string): number {
    const sum = this.#responses.get([destinationId, SUM]);
    return typeof sum === "number" ? sum : 0;
  }
}

/** Returns the id of a response, which is the same for equal responses. */
export function responseIdOf(response: ShownAnswer): string {
  return Bun.hash(JSON.stringify(response)).toString(36);
}
