import type { Ledger } from "../ledger/ledger.ts";
import { LAST_KEY } from "../ledger/letter-keys.ts";
import { DEAD_LETTERS_PAGE_CHARS_MAX, letterChars, takeChars } from "../ledger/letter-tables.ts";
import type {
  DeadLetter,
  LetterFilter,
  LetterGroup,
  LetterGroupDetails,
  LetterScan,
  LetterScanResult,
  StoredLetter,
} from "../model/dead-letter.ts";
import { parseJsonOrText, shownOutput } from "../model/input-event.ts";
import type { LetterJob } from "../model/replay-job.ts";

/** Maximum number of dead letter groups that one call of `groups` reads from each ledger. */
const GROUPS_READ_MAX = 10_000;

/**
 * Gives the API access to the dead letters (events that could not be delivered) of all ledgers, the
 * stores of delivery progress. A call returns or changes dead letters of one workspace only.
 */
export class DeadLetters {
  /**
   * Creates the access to dead letters.
   * - `wake`: called with the destination ids of requeued letters, so that delivery starts at once.
   * - `overrideMembers`: names of event members that may hold credentials, and are left out of
   *   returned outputs of user code.
   */
  constructor(
    private readonly ledgers: () => readonly Ledger[],
    private readonly wake: (destinationIds: readonly string[]) => void,
    private readonly now: () => number,
    private readonly overrideMembers: readonly string[] = [],
  ) {}

  /**
   * Returns dead letters after the id `after`, oldest first: at most `count`, but perhaps fewer or
   * none although more follow. `reached` is the `after` for the next page; it is undefined on the
   * last page.
   */
  find(
    workspaceId: string,
    { after = "", count, ...filter }: LetterFilter & { after?: string; count: number },
  ): { letters: DeadLetter[]; reached: string | undefined } {
    const parts = this.ledgers().map((ledger) => {
      const part = { after, before: LAST_KEY, count };
      const { ids, reached } = ledger.letters.scan(workspaceId, filter, part);
      return { values: ids.map((id) => ({ ledger, id })), reached };
    });
    const { values, reached } = page(parts, count, ({ id }) => id);
    // Letters are read one by one up to the bound, since many large ones do not fit in memory.
    const read = Iterator.from(values).flatMap(({ ledger, id }) => {
      const letter = ledger.letters.get(workspaceId, id);
      return letter === undefined ? [] : [{ ledger, letter }];
    });
    const charsOf = ({ letter }: { letter: StoredLetter }) => letterChars(letter);
    const found = takeChars(DEAD_LETTERS_PAGE_CHARS_MAX, charsOf, read);
    return {
      letters: found.map(({ ledger, letter }) => this.#shown(ledger, letter)),
      reached: (found.length < values.length ? found.at(-1)?.letter.id : undefined) ?? reached,
    };
  }

  get(workspaceId: string, id: string): DeadLetter | undefined {
    for (const ledger of this.ledgers()) {
      const letter = ledger.letters.get(workspaceId, id);
      if (letter !== undefined) return this.#shown(ledger, letter);
    }
    return undefined;
  }

  /**
   * Counts the dead letters of a workspace. `filter` can restrict the count to a destination or to
   * groups. Its other fields are ignored, because no counts are stored for them.
   */
  count(workspaceId: string, filter?: LetterFilter): number {
    return sum(this.ledgers().map(({ letters }) => letters.countOf(workspaceId, filter)));
  }

  /**
   * Returns the groups of dead letters of a workspace, or only of the destination `destinationId`.
   * The letters of a group failed in the same way at one destination. Groups are sorted by number
   * of letters, then by latest letter, both descending. At most `GROUPS_READ_MAX` are read from
   * each ledger.
   */
  groups(workspaceId: string, destinationId?: string): LetterGroup[] {
    const groups = this.ledgers().flatMap(({ letters }) =>
      Iterator.from(letters.counts(workspaceId))
        .filter(
          (it) =>
            it.count > 0 && (destinationId === undefined || it.destinationId === destinationId),
        )
        .flatMap((owner) => letters.groups.of(owner))
        .take(GROUPS_READ_MAX)
        .toArray(),
    );
    return [...Map.groupBy(groups, ({ id }) => id).values()]
      .map(mergeGroups)
      .sort((one, other) => other.count - one.count || other.lastAt - one.lastAt);
  }

  /**
   * Returns a group together with the receiver's answers that are stored for it; undefined when no
   * such group exists.
   */
  group(workspaceId: string, id: string): LetterGroupDetails | undefined {
    const parts = this.ledgers().flatMap(
      ({ letters }) => letters.groups.get(workspaceId, id) ?? [],
    );
    return parts.length === 0 ? undefined : mergeDetails(parts);
  }

  /**
   * Returns the ids of matching dead letters, oldest first: at most `part.count`, between
   * `part.after` and `part.before`. Includes ids above `part.before` that contain a future time,
   * because such ids were created while the clock was ahead.
   */
  ids(workspaceId: string, filter: LetterFilter, part: Omit<LetterScan, "now">): LetterScanResult {
    const scan = { ...part, now: this.now() };
    const parts = this.ledgers().map(({ letters }) => letters.scan(workspaceId, filter, scan));
    const ids = parts.map(({ ids, reached }) => ({ values: ids, reached }));
    const { values, reached } = page(ids, part.count, (id) => id);
    return { ids: values, seen: sum(parts.map(({ seen }) => seen)), reached };
  }

  /**
   * Requeues dead letters: their original events run through the published user code again, and are
   * then delivered or become dead letters again. `replayed` is the number of requeued letters.
   */
  async replay(
    workspaceId: string,
    ids: readonly string[],
    record?: LetterJob,
  ): Promise<{ replayed: number }> {
    const replayed = await this.#inLots(ids, async (ledger, rest) => {
      const requeued = await ledger.requeue(workspaceId, rest, this.now(), record);
      this.wake(requeued.destinationIds);
      return { count: requeued.destinationIds.length, done: requeued.done };
    });
    return { replayed };
  }

  /**
   * Deletes dead letters. If `record` is given, also stores the deletion as a job, so that the list
   * of replays shows it.
   */
  async purge(
    workspaceId: string,
    ids: readonly string[],
    record?: LetterJob,
  ): Promise<{ purged: number }> {
    const purged = await this.#inLots(ids, async (ledger, rest) => {
      const { purged, done } = await ledger.purge(workspaceId, rest, record);
      return { count: purged, done };
    });
    return { purged };
  }

  #shown(ledger: Ledger, letter: StoredLetter): DeadLetter {
    const { text, original, programId, user, type, name, ...facts } = letter;
    const { status, code, responseId, failedAttempts, ...rest } = facts;
    const byCode = letter.stage === "deliver" && letter.transformationVersionId !== undefined;
    const attempts = failedAttempts && {
      failedAttempts: failedAttempts.map((it) => ({ reason: letter.reason, ...it })),
    };
    return {
      ...rest,
      ...attempts,
      event: byCode ? shownOutput(text, this.overrideMembers) : parseJsonOrText(text),
      ...ledger.letters.groups.detailsOf(letter),
    };
  }

  /**
   * Calls `step` for every ledger until all `ids` are handled there. A call handles the first
   * `done` of the remaining ids in one transaction, and requeues or deletes `count` letters of the
   * ledger. Resolves with the sum of all `count`s.
   */
  async #inLots(
    ids: readonly string[],
    step: (ledger: Ledger, rest: readonly string[]) => Promise<{ count: number; done: number }>,
  ): Promise<number> {
    const counts = this.ledgers().map(async (ledger) => {
      let sum = 0;
      let rest = [...new Set(ids)];
      while (rest.length > 0) {
        const { count, done } = await step(ledger, rest);
        sum += count;
        rest = rest.slice(done);
      }
      return sum;
    });
    return sum(await Promise.all(counts));
  }
}

/**
 * Values that one ledger contributes to a page, which merges the values of all ledgers. `reached`
 * is the id of the last letter that the ledger scanned; undefined when it has scanned all letters.
 */
interface Part<T> {
  values: T[];
  reached: string | undefined;
}

/**
 * Merges the dead letters of all ledgers (`values`) into one page of at most `count`, ordered by
 * id. The page ends at the smallest `reached`, because the ledger with this `reached` may have
 * further letters above it.
 */
function page<T>(parts: readonly Part<T>[], count: number, idOf: (value: T) => string): Part<T> {
  const ends = parts.flatMap(({ reached }) => reached ?? []);
  const end = ends.sort()[0];
  const values = parts
    .flatMap((part) => part.values)
    .filter((value) => end === undefined || idOf(value) <= end)
    .sort((one, other) => (idOf(one) < idOf(other) ? -1 : 1));
  if (values.length <= count) return { values, reached: end };
  return { values: values.slice(0, count), reached: idOf(values[count - 1]!) };
}

function mergeGroups(groups: readonly LetterGroup[]): LetterGroup {
  const latest = groups.reduce((one, other) => (other.lastAt > one.lastAt ? other : one));
  const timeOf = ({ firstAt = 0 }: LetterGroup) => firstAt;
  const first = groups.reduce((one, other) => (timeOf(other) < timeOf(one) ? other : one));
  const { reason, firstAt } = first;
  const count = sum(groups.map((group) => group.count));
  const merged: LetterGroup = { ...latest, reason, count };
  if (firstAt === undefined) delete merged.firstAt;
  else merged.firstAt = firstAt;
  return merged;
}

function mergeDetails(groups: readonly LetterGroupDetails[]): LetterGroupDetails {
  const responses = groups.flatMap((group) => group.responses);
  responses.sort((one, other) => other.at - one.at);
  return { ...mergeGroups(groups), responses };
}

const sum = (counts: readonly number[]) => counts.reduce((all, count) => all + count, 0);
