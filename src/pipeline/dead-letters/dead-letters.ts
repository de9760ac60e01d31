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
   * Dead letters, oldest first; `after` is the id of the last one seen. Fewer than `count` do not
   * mean the end, since large events make a page shorter, and a part is looked through at a time.
   */
  list(
    workspaceId: string,
    options: LetterFilter & { after?: string; count: number },
  ): DeadLetter[];
  /** As `list`, with the id to go on from; absent at the end. */
  find(
    workspaceId: string,
    options: LetterFilter & { after?: string; count: number },
  ): { letters: DeadLetter[]; reached: string | undefined };
  get(workspaceId: string, id: string): DeadLetter | undefined;
  /** Of a destination or a group; what else the filter says is not reckoned with. */
  count(workspaceId: string, filter?: LetterFilter): number;
  /** Most letters first, of those that are alike the latest. */
  groups(workspaceId: string, destinationId?: string): LetterGroup[];
  /** Ids of a part of what a filter finds, oldest first. */
  ids(workspaceId: string, filter: LetterFilter, part: LetterScan): LetterScanResult;
  /** Sends them once more, through the code that is live now; each settles again. */
  replay(workspaceId: string, ids: readonly string[]): Promise<{ replayed: number }>;
  purge(workspaceId: string, ids: readonly string[]): Promise<{ purged: number }>;
}

/** Groups that are read to find the largest. */
const GROUPS_READ_MAX = 10_000;

/** The dead letters as `api/` sees them: sealed by workspace, events as values. */
export function createDeadLetters(
  ledger: Ledger,
  /** Tells the lanes of these destinations that there are replays. */
  wake: (destinationIds: readonly string[]) => void,
  now: () => number,
): DeadLetters {
  const find: DeadLetters["find"] = (workspaceId, { after = "", count, ...filter }) => {
    const looked = ledger.letters.look(workspaceId, filter, { after, before: LAST_KEY, count });
    const found = looked.ids.map((id) => ledger.letters.get(workspaceId, id));
    const letters = found.filter((letter) => letter !== undefined);
    const page = takeChars(DEAD_LETTERS_PAGE_CHARS_MAX, letterChars, letters);
    const reached = page.length < letters.length ? page.at(-1)?.id : looked.reached;
    return { letters: page.map(shown), reached };
  };
  return {
    list: (workspaceId, options) => find(workspaceId, options).letters,
    find,
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
    ids: (workspaceId, filter, part) => ledger.letters.look(workspaceId, filter, part),
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

/** Hands out ids in parts until all were looked at; `step` returns how many it has looked at. */
async function inLots(
  ids: readonly string[],
  step: (rest: readonly string[]) => Promise<number>,
): Promise<void> {
  let rest = [...new Set(ids)];
  while (rest.length > 0) rest = rest.slice(await step(rest));
}

function shown(letter: StoredLetter): DeadLetter {
  const { text, original, programId, user, type, name, ...rest } = letter;
  return { ...rest, event: parseJsonOrText(text) };
}
