import type { Ledger } from "../ledger/ledger.ts";
import { LAST_KEY } from "../ledger/letter-keys.ts";
import { DEAD_LETTERS_PAGE_CHARS_MAX, letterChars, takeChars } from "../ledger/letter-tables.ts";
import type {
  DeadLetter,
  LetterFilter,
  LetterGroup,
  LetterScan,
  LetterScanResult,
  StoredLetter,
} from "../model/dead-letter.ts";
import { parseJsonOrText } from "../model/input-event.ts";
import { shownOutput } from "../model/shown-event.ts";

export interface DeadLetters {
  /**
   * Lists dead letters, oldest first, starting after the letter with id `after`. To get the next
   * page, pass the returned `reached` as `after`; `reached` is undefined at the end of the list. A
   * page may hold fewer than `count` letters before the end: its size in characters is bounded, and
   * one call scans only part of the stored letters.
   */
  find(
    workspaceId: string,
    options: LetterFilter & { after?: string; count: number },
  ): { letters: DeadLetter[]; reached: string | undefined };
  get(workspaceId: string, id: string): DeadLetter | undefined;
  /**
   * Counts the letters of a destination or an error group. Ignores the other fields of the filter.
   */
  count(workspaceId: string, filter?: LetterFilter): number;
  /** Lists groups of dead letters, largest first; of equal ones the most recent first. */
  groups(workspaceId: string, destinationId?: string): LetterGroup[];
  /**
   * Returns ids of the letters that match a filter, oldest first. One call scans only the part of
   * the stored letters that `part` gives.
   */
  ids(workspaceId: string, filter: LetterFilter, part: LetterScan): LetterScanResult;
  /**
   * Requeues dead letters, so that their original events run through the live code again. Each may
   * be delivered then, or become a dead letter again. `replayed` counts the requeued letters.
   */
  replay(workspaceId: string, ids: readonly string[]): Promise<{ replayed: number }>;
  purge(workspaceId: string, ids: readonly string[]): Promise<{ purged: number }>;
}

/** Maximum number of groups that `groups` reads and sorts. Destinations may have more. */
const GROUPS_READ_MAX = 10_000;

/**
 * Creates the access to one ledger's dead letters that `api/` uses. Each call sees one workspace's
 * letters only. Their events are returned as parsed JSON.
 */
export function createDeadLetters(
  ledger: Ledger,
  /**
   * Called after letters were requeued, with their destinations' ids, so that delivery starts at
   * once.
   */
  wake: (destinationIds: readonly string[]) => void,
  now: () => number,
  /** Members of events that user code made, which no dead letter shows. */
  overrideMembers: readonly string[] = [],
): DeadLetters {
  const shown = (letter: StoredLetter) => shownLetter(letter, overrideMembers);
  return {
    find(workspaceId, { after = "", count, ...filter }) {
      const scanned = ledger.letters.scan(workspaceId, filter, { after, before: LAST_KEY, count });
      const found = scanned.ids.map((id) => ledger.letters.get(workspaceId, id));
      const letters = found.filter((letter) => letter !== undefined);
      const page = takeChars(DEAD_LETTERS_PAGE_CHARS_MAX, letterChars, letters);
      const reached = page.length < letters.length ? page.at(-1)?.id : scanned.reached;
      return { letters: page.map(shown), reached };
    },
    get(workspaceId, id) {
      const letter = ledger.letters.get(workspaceId, id);
      return letter && shown(letter);
    },
    count: (workspaceId, filter) => ledger.letters.countOf(workspaceId, filter),
    groups(workspaceId, destinationId) {
      const { letters } = ledger;
      const owners = Iterator.from(letters.counts()).filter(
        (it) =>
          it.workspaceId === workspaceId &&
          it.count > 0 &&
          (destinationId === undefined || it.destinationId === destinationId),
      );
      return owners
        .flatMap((owner) => letters.groups.of(owner))
        .take(GROUPS_READ_MAX)
        .toArray()
        .sort((one, other) => other.count - one.count || other.lastAt - one.lastAt);
    },
    ids: (workspaceId, filter, part) => ledger.letters.scan(workspaceId, filter, part),
    async replay(workspaceId, ids) {
      let replayed = 0;
      await inLots(ids, async (rest) => {
        const { destinationIds, done } = await ledger.requeue(workspaceId, rest, now());
        wake(destinationIds);
        replayed += destinationIds.length;
        return done;
      });
      return { replayed };
    },
    async purge(workspaceId, ids) {
      let sum = 0;
      await inLots(ids, async (rest) => {
        const { purged, done } = await ledger.purge(workspaceId, rest);
        sum += purged;
        return done;
      });
      return { purged: sum };
    },
  };
}

/**
 * Processes ids in several transactions. `step` gets the ids that remain, processes some from the
 * beginning, and returns their number. It is called until no id remains.
 */
async function inLots(
  ids: readonly string[],
  step: (rest: readonly string[]) => Promise<number>,
): Promise<void> {
  let rest = [...new Set(ids)];
  while (rest.length > 0) rest = rest.slice(await step(rest));
}

function shownLetter(letter: StoredLetter, overrideMembers: readonly string[]): DeadLetter {
  const { text, original, programId, user, type, name, ...rest } = letter;
  const byCode = letter.stage === "deliver" && letter.transformationVersionId !== undefined;
  return { ...rest, event: byCode ? shownOutput(text, overrideMembers) : parseJsonOrText(text) };
}
