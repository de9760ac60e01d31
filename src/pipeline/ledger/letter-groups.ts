import type { Store } from "../../store/store.ts";
import type { Table } from "../../store/table.ts";
import type { LetterGroup, LetterOwner } from "../model/dead-letter.ts";
import { keyRange, type PairKey } from "./letter-keys.ts";

type Letter = Pick<LetterGroup, "id" | "workspaceId" | "destinationId" | "stage" | "reason"> & {
  createdAt: number;
};

/**
 * Largest number of dead letter groups of one destination, without the group for all other reasons.
 * There must be a limit, because user code can give a new reason for each event.
 */
const GROUPS_OF_DESTINATION_MAX = 200;
/** Number of leading characters of a dead letter's reason that are compared and shown. */
const REASON_CHARS_MAX = 300;
const OTHER = "other";
/** Key of the row that stores how far the dead letters of an earlier version have been grouped. */
const REACHED: PairKey = ["", ""];
const DONE = "done";

/**
 * Groups and counts dead letters by reason. The counts change in the transactions that add and
 * remove letters, because there may be a million letters, too many to count on demand.
 */
export class LetterGroups {
  /** [destination id, group name] → group. */
  readonly #groups: Table<Omit<LetterGroup, "id" | "destinationId">, PairKey>;
  /** [group id, letter id] → workspace id. A group id is `destination id.group name`. */
  readonly #letters: Table<string, PairKey>;

  constructor(store: Store) {
    this.#groups = store.table("letter-groups");
    this.#letters = store.table("letters-by-group");
  }

  /**
   * Adds a dead letter to the group of its reason, unless it is in a group already. Call this and
   * all methods that write only inside a transaction of the store.
   */
  add(letter: Letter): void {
    const { id, workspaceId, destinationId, stage, createdAt } = letter;
    if (this.#nameOf(letter) !== undefined) return;
    const name = this.#room(destinationId, nameFor(letter));
    const known = this.#groups.get([destinationId, name]);
    const reason = name === OTHER ? "Other reasons" : letter.reason.slice(0, REASON_CHARS_MAX);
    this.#groups.put([destinationId, name], {
      ...(known ?? { workspaceId, stage, reason }),
      count: (known?.count ?? 0) + 1,
      lastAt: createdAt,
    });
    this.#letters.put([groupId(destinationId, name), id], workspaceId);
  }

  remove(letter: Letter): void {
    const { id, destinationId } = letter;
    const name = this.#nameOf(letter);
    if (name === undefined) return;
    this.#letters.remove([groupId(destinationId, name), id]);
    const known = this.#groups.get([destinationId, name]);
    if (known === undefined) return;
    const count = known.count - 1;
    if (count > 0) this.#groups.put([destinationId, name], { ...known, count });
    else this.#groups.remove([destinationId, name]);
  }

  /**
   * Key `[workspace id, letter id]` of the dead letter grouped last, while letters that an earlier
   * version stored are being grouped. Undefined when all are grouped.
   */
  get reached(): PairKey | undefined {
    const reached = this.#letters.get(REACHED) ?? " ";
    return reached === DONE ? undefined : (reached.split(" ", 2) as PairKey);
  }

  reach(key: PairKey | undefined): void {
    this.#letters.put(REACHED, key?.join(" ") ?? DONE);
  }

  /** The groups of one destination's dead letters. */
  *of({ workspaceId, destinationId }: LetterOwner): Generator<LetterGroup> {
    for (const { key, value } of this.#groups.getRange(keyRange(destinationId))) {
      if (value.workspaceId !== workspaceId) continue;
      yield { ...value, id: groupId(destinationId, key[1]), destinationId };
    }
  }

  get(workspaceId: string, id: string): LetterGroup | undefined {
    const [destinationId = "", name = ""] = id.split(".", 2);
    const known = this.#groups.get([destinationId, name]);
    return known?.workspaceId === workspaceId ? { ...known, id, destinationId } : undefined;
  }

  /** Ids of a group's letters, oldest first, that sort after the id `after`. */
  *lettersOf(workspaceId: string, id: string, after: string): Generator<string> {
    for (const { key, value } of this.#letters.getRange(keyRange(id, after))) {
      if (value === workspaceId) yield key[1];
    }
  }

  /** Name of the group that holds a dead letter; undefined when no group does. */
  #nameOf(letter: Letter): string | undefined {
    const { id, destinationId } = letter;
    return [nameFor(letter), OTHER].find((name) =>
      this.#letters.doesExist([groupId(destinationId, name), id]),
    );
  }

  /**
   * Name of the group for a new dead letter: `name` if this group exists or may still be created,
   * else `OTHER`, the group for all other reasons.
   */
  #room(destinationId: string, name: string): string {
    if (this.#groups.doesExist([destinationId, name])) return name;
    const keys = this.#groups.getKeys(keyRange(destinationId, "", GROUPS_OF_DESTINATION_MAX));
    return [...keys].length < GROUPS_OF_DESTINATION_MAX ? name : OTHER;
  }
}

function groupId(destinationId: string, name: string): string {
  return `${destinationId}.${name}`;
}

/**
 * Name of the group for a dead letter: a hash of its stage and reason. Long numbers and ids in the
 * reason are ignored, because they differ from event to event.
 */
function nameFor({ stage, reason }: Letter): string {
  const same = reason
    .slice(0, REASON_CHARS_MAX)
    .replace(/\b(?=\w*\d)[\w-]{16,}\b/g, "#")
    .replace(/\d{4,}/g, "#");
  return Bun.hash(`${stage} ${same}`).toString(36);
}
