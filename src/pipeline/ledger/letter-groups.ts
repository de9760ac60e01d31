import { defined } from "../../defined.ts";
import { cutText } from "../../errors.ts";
import type { Store } from "../../store/store.ts";
import type { Table } from "../../store/table.ts";
import type {
  LetterGroup,
  LetterGroupDetails,
  LetterOwner,
  LetterResponse,
  NewLetter,
  StoredLetter,
} from "../model/dead-letter.ts";
import { type GroupedFacts, groupNameOf } from "./group-name.ts";
import { keyRange, type PairKey } from "./letter-keys.ts";
import { type KeptResponse, LetterResponses } from "./letter-responses.ts";

type Letter = GroupedFacts &
  Pick<NewLetter, "id" | "workspaceId" | "destinationId" | "createdAt" | "response">;

/** A group of dead letters as the ledger stores it. */
type GroupRow = Omit<LetterGroup, "id" | "destinationId"> & { responses?: readonly KeptResponse[] };

/**
 * Maximum number of dead letter groups of one destination, besides the group `OTHER`. Beyond it,
 * letters with a new reason go into `OTHER`, because user code could otherwise create one group for
 * each event.
 */
const GROUPS_OF_DESTINATION_MAX = 200;
/** Maximum number of characters of the reason that a group shows. Longer reasons are cut. */
const REASON_CHARS_MAX = 300;
/**
 * Name of the group for letters that fit into no other group, once the destination has the maximum
 * number of groups.
 */
const OTHER = "other";

/**
 * Groups dead letters with the same failure, and counts them. Each transaction that adds or removes
 * letters also changes the counts. A destination can have a million letters, too many to count on
 * demand.
 */
export class LetterGroups {
  /** [destination id, group name] → group. */
  readonly #groups: Table<GroupRow, PairKey>;
  /** [group id, letter id] → workspace id. A group id is `destination id.group name`. */
  readonly #letters: Table<string, PairKey>;
  readonly #responses: LetterResponses;

  constructor(store: Store) {
    this.#responses = new LetterResponses(store);
    this.#groups = store.table("letter-groups");
    this.#letters = store.table("letters-by-group");
  }

  /**
   * Adds a dead letter to the group of its failure, unless it is in a group already. This and all
   * other methods that change data must be called inside a transaction of the store.
   */
  add(letter: Letter): void {
    const { id, workspaceId, destinationId, stage, createdAt, response } = letter;
    if (this.#nameOf(letter) !== undefined) return;
    const name = this.#room(destinationId, groupNameOf(letter));
    const group = { id: groupId(destinationId, name), destinationId };
    const known = this.#groups.get([destinationId, name]);
    const { responses = [], ...row } = known ?? newRow(letter, name);
    const kept =
      response === undefined
        ? responses
        : this.#responses.keep(group, responses, { response, at: createdAt });
    this.#groups.put([destinationId, name], {
      ...row,
      workspaceId,
      stage,
      count: row.count + 1,
      lastAt: createdAt,
      ...(kept.length > 0 && { responses: kept }),
    });
    this.#letters.put([group.id, id], workspaceId);
  }

  remove(letter: Letter): void {
    const { id, destinationId } = letter;
    const name = this.#nameOf(letter);
    if (name === undefined) return;
    const group = { id: groupId(destinationId, name), destinationId };
    this.#letters.remove([group.id, id]);
    const known = this.#groups.get([destinationId, name]);
    if (known === undefined) return;
    const count = known.count - 1;
    if (count > 0) this.#groups.put([destinationId, name], { ...known, count });
    else {
      this.#groups.remove([destinationId, name]);
      this.#responses.drop(group, known.responses ?? []);
    }
  }

  /**
   * Returns the id of a dead letter's group and the receiver's response; an empty object if no
   * group holds the letter. `response` is the first of these that exists, otherwise absent:
   * - the letter's own stored response
   * - if the letter has a status or an error code, the group's latest stored response with the same
   *   ones, marked `isSample`
   * - only the letter's status and error code
   */
  detailsOf(letter: StoredLetter): { groupId?: string; response?: LetterResponse } {
    const { destinationId, status, code, responseId } = letter;
    const name = this.#nameOf(letter);
    if (name === undefined) return {};
    const id = groupId(destinationId, name);
    const own = this.#responses.get(id, responseId);
    if (own !== undefined) return { groupId: id, response: own };
    if (status === undefined && code === undefined) return { groupId: id };
    const sample = this.#responsesOf(id, this.#groups.get([destinationId, name])).find(
      ({ response }) => response.status === status && response.code === code,
    );
    return {
      groupId: id,
      response: sample ? { ...sample.response, isSample: true } : defined({ status, code }),
    };
  }

  /** Yields the groups of one destination's dead letters. */
  *of({ workspaceId, destinationId }: LetterOwner): Generator<LetterGroup> {
    for (const { key, value } of this.#groups.getRange(keyRange(destinationId))) {
      if (value.workspaceId !== workspaceId) continue;
      const { responses: _, ...row } = value;
      yield { ...row, id: groupId(destinationId, key[1]), destinationId };
    }
  }

  get(workspaceId: string, id: string): LetterGroupDetails | undefined {
    const [destinationId = "", name = ""] = id.split(".", 2);
    const known = this.#groups.get([destinationId, name]);
    if (known?.workspaceId !== workspaceId) return undefined;
    return { ...known, id, destinationId, responses: this.#responsesOf(id, known) };
  }

  /** Returns the responses of the receiver that are stored for a group, latest first. */
  #responsesOf(id: string, row: GroupRow | undefined): LetterGroupDetails["responses"] {
    const kept = row?.responses ?? [];
    return kept.toReversed().flatMap(({ at, id: responseId }) => {
      const response = this.#responses.get(id, responseId);
      return response === undefined ? [] : [{ at, response }];
    });
  }

  /** Yields the ids of a group's dead letters that sort after the id `after`, oldest first. */
  *lettersOf(workspaceId: string, id: string, after: string): Generator<string> {
    for (const { key, value } of this.#letters.getRange(keyRange(id, after))) {
      if (value === workspaceId) yield key[1];
    }
  }

  /**
   * Yields the ids of the dead letters in the groups `ids`, oldest first, beginning after the
   * letter id `after`. `ids` must not name a group twice.
   */
  *lettersOfAll(workspaceId: string, ids: readonly string[], after: string): Generator<string> {
    const heads = ids.flatMap((id) => {
      const letters = this.lettersOf(workspaceId, id, after);
      const { value } = letters.next();
      return value === undefined ? [] : [{ letters, value }];
    });
    while (heads.length > 0) {
      const first = heads.reduce((one, other) => (other.value < one.value ? other : one));
      yield first.value;
      const { value } = first.letters.next();
      if (value === undefined) heads.splice(heads.indexOf(first), 1);
      else first.value = value;
    }
  }

  /** Name of the group that holds a dead letter; undefined when no group does. */
  #nameOf(letter: Letter): string | undefined {
    const { id, destinationId } = letter;
    return [groupNameOf(letter), OTHER].find((name) =>
      this.#letters.doesExist([groupId(destinationId, name), id]),
    );
  }

  /**
   * Returns the name of the group into which a new dead letter goes: `name` if this group exists or
   * the destination may have one more group, otherwise `OTHER`.
   */
  #room(destinationId: string, name: string): string {
    if (this.#groups.doesExist([destinationId, name])) return name;
    const last = { offset: GROUPS_OF_DESTINATION_MAX - 1, ...keyRange(destinationId, "", 1) };
    return [...this.#groups.getKeys(last)].length === 0 ? name : OTHER;
  }
}

function groupId(destinationId: string, name: string): string {
  return `${destinationId}.${name}`;
}

/** Whether `id` is the id of a group of the destination's dead letters. */
export function isGroupOf(destinationId: string, id: string): boolean {
  return id.startsWith(groupId(destinationId, ""));
}

function newRow(letter: Letter, name: string): GroupRow {
  const { workspaceId, stage, reason, createdAt, status, code } = letter;
  const isOther = name === OTHER;
  return {
    workspaceId,
    stage,
    reason: isOther ? "Other reasons" : cutText(reason, REASON_CHARS_MAX),
    count: 0,
    firstAt: createdAt,
    lastAt: createdAt,
    ...(!isOther && defined({ status, code })),
  };
}
