import type { LetterGroup, LetterGroupDetails } from "../model/dead-letter.ts";
import type { DeadLetters } from "./dead-letters.ts";

/**
 * Combines the dead letters of several ledgers, one for each partition, into one interface. Each
 * letter is in exactly one ledger.
 */
export function mergeDeadLetters(all: () => readonly DeadLetters[]): DeadLetters {
  return {
    find(workspaceId, options) {
      const parts = all().map((one) => one.find(workspaceId, options));
      const letters = parts.map(({ letters, reached }) => ({ values: letters, reached }));
      const { values, reached } = page(letters, options.count, ({ id }) => id);
      return { letters: values, reached };
    },
    get: (workspaceId, id) =>
      all()
        .values()
        .map((one) => one.get(workspaceId, id))
        .find((letter) => letter !== undefined),
    count: (workspaceId, filter) => sum(all().map((one) => one.count(workspaceId, filter))),
    groups(workspaceId, destinationId) {
      const groups = all().flatMap((one) => one.groups(workspaceId, destinationId));
      return [...Map.groupBy(groups, ({ id }) => id).values()].map(mergeGroups).sort(byCount);
    },
    group(workspaceId, id) {
      const parts = all().flatMap((one) => one.group(workspaceId, id) ?? []);
      return parts.length === 0 ? undefined : mergeDetails(parts);
    },
    ids(workspaceId, filter, part) {
      const parts = all().map((one) => one.ids(workspaceId, filter, part));
      const ids = parts.map(({ ids, reached }) => ({ values: ids, reached }));
      const seen = sum(parts.map((one) => one.seen));
      const { values, reached } = page(ids, part.count, (id) => id);
      return { ids: values, seen, reached };
    },
    async replay(workspaceId, ids, record) {
      const lots = await Promise.all(all().map((one) => one.replay(workspaceId, ids, record)));
      return { replayed: sum(lots.map(({ replayed }) => replayed)) };
    },
    async purge(workspaceId, ids, record) {
      const lots = await Promise.all(all().map((one) => one.purge(workspaceId, ids, record)));
      return { purged: sum(lots.map(({ purged }) => purged)) };
    },
  };
}

/**
 * One ledger's contribution to a page of dead letters. `reached` is the id of the last letter that
 * the ledger scanned; undefined when it has scanned all.
 */
interface Part<T> {
  values: T[];
  reached: string | undefined;
}

/**
 * Merges the contributions of all ledgers into one page, ordered by id. Leaves out values after the
 * smallest `reached`: the ledger that stopped there may have further letters that sort before them.
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
  const firstOf = ({ firstAt, lastAt }: LetterGroup) => firstAt ?? lastAt;
  const first = groups.reduce((one, other) => (firstOf(other) < firstOf(one) ? other : one));
  const { reason, firstAt } = first;
  const count = sum(groups.map((group) => group.count));
  return { ...latest, reason, ...(firstAt !== undefined && { firstAt }), count };
}

function mergeDetails(groups: readonly LetterGroupDetails[]): LetterGroupDetails {
  const responses = groups.flatMap((group) => group.responses);
  responses.sort((one, other) => other.at - one.at);
  return { ...mergeGroups(groups), responses };
}

const byCount = (one: LetterGroup, other: LetterGroup) =>
  other.count - one.count || other.lastAt - one.lastAt;

const sum = (counts: readonly number[]) => counts.reduce((all, count) => all + count, 0);
