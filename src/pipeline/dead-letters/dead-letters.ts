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
import { parseJsonOrText } from "../model/input-event.ts";
import type { LetterJob } from "../model/replay-job.ts";
import { shownOutput } from "../model/shown-event.ts";

export interface DeadLetters {
  /**
   * Returns a page of dead letters (events that could not be delivered), oldest first, after the
   * letter with id `after`. The returned `reached` is the `after` of the next page; undefined on
   * the last page. Any page may hold fewer than `count` letters, because the size of a page and the
   * number of letters that one call scans are bounded.
   */
  find(
    workspaceId: string,
    options: LetterFilter & { after?: string; count: number },
  ): { letters: DeadLetter[]; reached: string | undefined };
  get(workspaceId: string, id: string): DeadLetter | undefined;
  /**
   * Counts the dead letters of a workspace, or of the destination or the error group in `filter`.
   * Ignores the other fields of the filter, for which no counts are stored.
   */
  count(workspaceId: string, filter?: LetterFilter): number;
  /**
   * Lists groups of dead letters with the same reason: the largest group first, and among groups of
   * equal size the one with the latest letter first.
   */
  groups(workspaceId: string, destinationId?: string): LetterGroup[];
  /** Returns a group with the receiver's answers that are kept of it. */
  group(workspaceId: string, id: string): LetterGroupDetails | undefined;
  /**
   * Returns the ids of the dead letters that match a filter, oldest first. `part` bounds how many
   * of the stored letters one call scans.
   */
  ids(workspaceId: string, filter: LetterFilter, part: LetterScan): LetterScanResult;
  /**
   * Requeues dead letters: their original events run through the published user code again, and are
   * then delivered or become dead letters again. `replayed` is the number of requeued letters.
   */
  replay(
    workspaceId: string,
    ids: readonly string[],
    record?: LetterJob,
  ): Promise<{ replayed: number }>;
  /** Deletes dead letters. With `record`, the list of replays shows it, as that of a replay. */
  purge(
    workspaceId: string,
    ids: readonly string[],
    record?: LetterJob,
  ): Promise<{ purged: number }>;
}

/** Maximum number of dead letter groups that one call of `groups` reads and sorts. */
const GROUPS_READ_MAX = 10_000;

/**
 * Creates the API's access to the dead letters in one ledger, the store of a partition's delivery
 * progress. Each call sees the letters of one workspace only. Events are returned as parsed JSON.
 */
export function createDeadLetters(
  ledger: Ledger,
  /**
   * Called after letters were requeued, with their destinations' ids, so that delivery starts at
   * once.
   */
  wake: (destinationIds: readonly string[]) => void,
  now: () => number,
  /**
   * Names of event members that are left out when user code made the event, because their values
   * may be credentials.
   */
  overrideMembers: readonly string[] = [],
): DeadLetters {
  const shown = (letter: StoredLetter): DeadLetter => ({
    ...shownLetter(letter, overrideMembers),
    ...ledger.letters.groups.detailsOf(letter),
  });
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
    group: (workspaceId, id) => ledger.letters.groups.get(workspaceId, id),
    ids: (workspaceId, filter, part) => ledger.letters.scan(workspaceId, filter, part),
    async replay(workspaceId, ids, record) {
      let replayed = 0;
      await inLots(ids, async (rest) => {
        const { destinationIds, done } = await ledger.requeue(workspaceId, rest, now(), record);
        wake(destinationIds);
        replayed += destinationIds.length;
        return done;
      });
      return { replayed };
    },
    async purge(workspaceId, ids, record) {
      let sum = 0;
      await inLots(ids, async (rest) => {
        const { purged, done } = await ledger.purge(workspaceId, rest, record);
        sum += purged;
        return done;
      });
      return { purged: sum };
    },
  };
}

/**
 * Calls `step` until it has processed all ids. Each call is one transaction: `step` gets the ids
 * that remain, processes some from the beginning, and returns their number.
 */
async function inLots(
  ids: readonly string[],
  step: (rest: readonly string[]) => Promise<number>,
): Promise<void> {
  let rest = [...new Set(ids)];
  while (rest.length > 0) rest = rest.slice(await step(rest));
}

function shownLetter(letter: StoredLetter, overrideMembers: readonly string[]): DeadLetter {
  const { text, original, programId, user, type, name, ...facts } = letter;
  const { status, code, responseId, failedAttempts, ...rest } = facts;
  const byCode = letter.stage === "deliver" && letter.transformationVersionId !== undefined;
  const attempts = failedAttempts && {
    failedAttempts: failedAttempts.map((it) => ({ reason: letter.reason, ...it })),
  };
  return {
    ...rest,
    ...attempts,
    event: byCode ? shownOutput(text, overrideMembers) : parseJsonOrText(text),
  };
}
