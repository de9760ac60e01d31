import { type Static, Type } from "@sinclair/typebox";
import type { DeadLetters } from "../../../pipeline/dead-letters/dead-letters.ts";
import { firstIdAt } from "../../../pipeline/ledger/letter-keys.ts";
import type { LetterFilter } from "../../../pipeline/model/dead-letter.ts";
import {
  DEAD_LETTER_FILTER_GROUPS_MAX,
  DEAD_LETTERS_PAGE_MAX,
  REPLAY_FILTER_CHARS_MAX,
} from "../../../settings/limits.ts";
import { optionalFlag, optionalInteger } from "../../../settings/schema-types.ts";
import { invalidValue } from "../../request/validation.ts";
import { PreconditionFailed } from "../../response/errors.ts";
import { Id, isoTime, strict, Time } from "../../schema/common.ts";
import { Rate, Replay } from "./replays.ts";

/**
 * Number of dead letters that are counted at once. Other requests run before the next ones are
 * counted.
 */
const COUNTED_AT_ONCE = 1_000;

/** Query parameters that filter a list of dead letters. */
export const filterQuery = {
  destinationId: Type.Optional(Id),
  groupId: Type.Optional({ ...Id, description: "Id of a group of dead letters" }),
  reason: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: REPLAY_FILTER_CHARS_MAX,
      description: "A part of the reason, in any case",
    }),
  ),
  transformationVersionId: Type.Optional({ ...Id, description: "Of the code that ran" }),
  from: Type.Optional({ ...Time, description: "Given up from this time on" }),
  to: Type.Optional({ ...Time, description: "Given up before" }),
};
const Filter = Type.Object(
  {
    ...filterQuery,
    groupIds: Type.Optional(
      Type.Array(Id, {
        minItems: 1,
        maxItems: DEAD_LETTER_FILTER_GROUPS_MAX,
        description: "Ids of groups of dead letters: those of any of them",
      }),
    ),
  },
  { ...strict, description: "An empty one finds all" },
);

export function filterOf({ from, to, ...rest }: Static<typeof Filter>): LetterFilter {
  return {
    ...rest,
    ...(from !== undefined && { from: Date.parse(from) }),
    ...(to !== undefined && { to: Date.parse(to) }),
  };
}

export const LetterSelection = Type.Object(
  {
    ids: Type.Optional(Type.Array(Id, { minItems: 1, maxItems: DEAD_LETTERS_PAGE_MAX })),
    filter: Type.Optional(Filter),
    all: optionalFlag("All that a filter finds now, however many: answers a `replay` that runs"),
    rate: Type.Optional({ ...Rate, description: "With `all`: dead letters replayed a second" }),
    before: Type.Optional({
      ...Time,
      description:
        "Of a filter, those alone that were given up before, or by a clock that is ahead of now; else all until now",
    }),
    count: optionalInteger(1, DEAD_LETTERS_PAGE_MAX, {
      default: DEAD_LETTERS_PAGE_MAX,
      description: "With a filter: how many of the oldest; `more` says whether some are left",
    }),
    expected: Type.Optional(
      Type.Integer({
        minimum: 0,
        description:
          "With a filter: how many dead letters the caller was shown. When it finds more now, the " +
          "request is answered 412 with their number in `current`, and nothing happens",
      }),
    ),
  },
  { ...strict, $id: "DeadLetterSelection", description: "Either `ids`, or a `filter`" },
);
export type LetterSelection = Static<typeof LetterSelection>;

/**
 * Optional fields of the response to a replay or deletion of dead letters. If `more` is true, the
 * client must repeat the request with the response's `before`, which excludes dead letters that
 * have failed again since.
 */
export const restFields = {
  more: optionalFlag("With a filter: whether it finds more"),
  before: Type.Optional({
    ...Time,
    description: "To be sent with the next, so that what fails again is not meant again",
  }),
  replay: Type.Optional(Replay),
};

/**
 * Returns filter, rate (dead letters per second) and `before` (time before which the dead letters
 * were given up) of a request with `all`; undefined for a request without `all`. Throws if a
 * request with `all` has ids or no filter.
 */
export function allOf({ ids, filter, all, rate, before }: LetterSelection) {
  if (all !== true) return undefined;
  if (ids !== undefined || filter === undefined) {
    throw invalidValue("/all", "Expected a filter beside all, and no ids");
  }
  return {
    filter: filterOf(filter),
    ...(rate !== undefined && { rate }),
    ...(before !== undefined && { before: Date.parse(before) }),
  };
}

/**
 * Resolves with the ids of the dead letters that a request selects. With a filter, these are at
 * most `count`, and `more` says whether further ones match. Rejects unless the request has either
 * ids or a filter.
 */
export async function selected(
  deadLetters: DeadLetters,
  workspaceId: string,
  { ids, filter, before, count = DEAD_LETTERS_PAGE_MAX }: LetterSelection,
): Promise<{ ids: string[]; more?: boolean; before?: string }> {
  if (filter === undefined && ids !== undefined) return { ids };
  if (filter === undefined || ids !== undefined) {
    const got = ids === undefined ? "neither" : "both";
    throw invalidValue("", `Expected either ids or a filter, got ${got}`);
  }
  const until = before === undefined ? Date.now() : Date.parse(before);
  const found: string[] = [];
  let after: string | undefined = "";
  while (after !== undefined && found.length <= count) {
    const part = { after, before: firstIdAt(until), count: count + 1 - found.length };
    const page = deadLetters.ids(workspaceId, filterOf(filter), part);
    found.push(...page.ids);
    after = page.reached;
    // Lets the event loop run other requests.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { ids: found.slice(0, count), more: found.length > count, before: isoTime(until) };
}

/**
 * Throws if the request's filter matches more dead letters than the request's `expected`. Does
 * nothing if `expected` is absent. Counts only dead letters from before the time `before`, which is
 * the present by default.
 */
export async function expectCount(
  deadLetters: DeadLetters,
  workspaceId: string,
  { filter, expected, before }: LetterSelection,
): Promise<void> {
  if (expected === undefined) return;
  if (filter === undefined) {
    throw invalidValue("/expected", "Expected a filter beside expected");
  }
  const until = firstIdAt(before === undefined ? Date.now() : Date.parse(before));
  const criteria = filterOf(filter);
  let count = 0;
  let after: string | undefined = "";
  while (after !== undefined && count <= expected) {
    const part = { after, before: until, count: COUNTED_AT_ONCE };
    const page = deadLetters.ids(workspaceId, criteria, part);
    count += page.ids.length;
    after = page.reached;
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (count <= expected) return;
  // There are stored counts of all dead letters of a group or destination. Otherwise `count` is the
  // number of those counted so far.
  const { reason, transformationVersionId, from, to } = criteria;
  const limits = [before, reason, transformationVersionId, from, to];
  const isStored = limits.every((it) => it === undefined);
  const now = isStored ? deadLetters.count(workspaceId, criteria) : count;
  const got = isStored ? now : `at least ${now}`;
  const message = `Expected at most ${expected} dead letters, got ${got}; nothing was changed`;
  throw new PreconditionFailed(message, { current: { count: now } });
}
