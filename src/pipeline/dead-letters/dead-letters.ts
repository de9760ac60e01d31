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

export interface DeadLetters {
  /**
   * Lists dead letters, oldest first, with the id to go on from; `reached` is undefined at the end.
   * `after` is the id of the last one seen. A page of fewer than `count` letters need not be the
   * last one: large events make it shorter, and one call scans a part of the letters.
   */
  find(
    workspaceId: string,
    options: LetterFilter & { after?: string; count: number },
  ): { letters: DeadLetter[]; reached: string | undefined };
  get(workspaceId: string, id: string): DeadLetter | undefined;
  /** Counts the letters of a destination or a group; other parts of the filter are ignored. */
  count(workspaceId: string, filter?: LetterFilter): number;
  /** Groups with the most letters first, then the latest. */
  groups(workspaceId: string, destinationId?: string): LetterGroup[];
  /** Ids of the letters that match a filter, oldest first, a part at a time. */
  ids(workspaceId: string, filter: LetterFilter, part: LetterScan): LetterScanResult;
  /** Sends letters again, through the code that is live now; each settles again. */
  replay(workspaceId: string, ids: readonly string[]): Promise<{ replayed: number }>;
  purge(workspaceId: string, ids: readonly string[]): Promise<{ purged: number }>;
}

/** Most groups that are read to find the largest. */
const GROUPS_READ_MAX = 10_000;

/** Dead letters for `api/`: one workspace sees only its own, events are parsed. */
export function createDeadLetters(
  ledger: Ledger,
  /** Wakes the lanes of these destinations: letters were requeued. */
  wake: (destinationIds: readonly string[]) => void,
  now: () => number,
): DeadLetters {
  return {
    find(workspaceId, { after = "", count, ...filter }) {
      const scanned = ledger.letters.scan(workspaceId, filter, { after, before: LAST_KEY, count });
      const found = scanned.ids.map((id) => ledger.letters.get(workspaceId, id));
      const letters = found.filter((letter) => letter !== undefined);
      const page = takeChars(DEAD_LETTERS_PAGE_CHARS_MAX, letterChars, letters);
      const reached = page.length < letters.length ? page.at(-1)?.id : scanned.reached;
      return { letters: page.map(parseLetter), reached };
    },
    get(workspaceId, id) {
      const letter = ledger.letters.get(workspaceId, id);
      return letter && parseLetter(letter);
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

/** Calls `step` with the remaining ids until none is left; it returns how many it has processed. */
async function inLots(
  ids: readonly string[],
  step: (rest: readonly string[]) => Promise<number>,
): Promise<void> {
  let rest = [...new Set(ids)];
  while (rest.length > 0) rest = rest.slice(await step(rest));
}

function parseLetter(letter: StoredLetter): DeadLetter {
  const { text, original, programId, user, type, name, ...rest } = letter;
  return { ...rest, event: parseJsonOrText(text) };
}
