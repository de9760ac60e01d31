import type { DeadLetter, DeadLetters } from "./dead-letter.ts";
import type { LetterGroup } from "./groups.ts";

/** The dead letters of several ledgers as if they were in one. A letter is in one of them alone. */
export function joined(all: readonly DeadLetters[]): DeadLetters {
  const [first] = all;
  if (first !== undefined && all.length === 1) return first;
  return {
    list: (workspaceId, options) =>
      page(
        all.map((one) => pageOf(one, workspaceId, options)),
        options.count,
      ),
    get: (workspaceId, id) =>
      all
        .values()
        .find((one) => one.get(workspaceId, id))
        ?.get(workspaceId, id),
    count: (workspaceId, filter) => sum(all.map((one) => one.count(workspaceId, filter))),
    groups(workspaceId, destinationId) {
      const groups = all.flatMap((one) => one.groups(workspaceId, destinationId));
      return [...Map.groupBy(groups, ({ id }) => id).values()].map(together).sort(byCount);
    },
    ids: (workspaceId, filter, before, count) =>
      all
        .flatMap((one) => one.ids(workspaceId, filter, before, count))
        .sort()
        .slice(0, count),
    async replay(workspaceId, ids) {
      const lots = await Promise.all(all.map((one) => one.replay(workspaceId, ids)));
      return { replayed: sum(lots.map(({ replayed }) => replayed)) };
    },
    async purge(workspaceId, ids) {
      const lots = await Promise.all(all.map((one) => one.purge(workspaceId, ids)));
      return { purged: sum(lots.map(({ purged }) => purged)) };
    },
  };
}

/** A ledger's part of a page. */
interface Part {
  letters: DeadLetter[];
  /** Letters beyond the last one of a part that goes on were not looked at. */
  goesOn: boolean;
}

function pageOf(
  one: DeadLetters,
  workspaceId: string,
  options: Parameters<DeadLetters["list"]>[1],
): Part {
  const letters = one.list(workspaceId, options);
  const last = letters.at(-1);
  const goesOn =
    last !== undefined &&
    one.list(workspaceId, { ...options, after: last.id, count: 1 }).length > 0;
  return { letters, goesOn };
}

/** Parts in the order of their ids, up to where the first part stops that goes on. */
function page(parts: readonly Part[], count: number): DeadLetter[] {
  const ends = parts.flatMap(({ letters, goesOn }) => (goesOn ? (letters.at(-1)?.id ?? []) : []));
  const end = ends.sort()[0];
  return parts
    .flatMap(({ letters }) => letters)
    .filter(({ id }) => end === undefined || id <= end)
    .sort((one, other) => (one.id < other.id ? -1 : 1))
    .slice(0, count);
}

function together(groups: readonly LetterGroup[]): LetterGroup {
  const latest = groups.reduce((one, other) => (other.lastAt > one.lastAt ? other : one));
  return { ...latest, count: sum(groups.map(({ count }) => count)) };
}

const byCount = (one: LetterGroup, other: LetterGroup) =>
  other.count - one.count || other.lastAt - one.lastAt;

const sum = (counts: readonly number[]) => counts.reduce((all, count) => all + count, 0);
