import { type Static, Type } from "@sinclair/typebox";
import { ApiError } from "../../../errors.ts";
import type { DeadLetters } from "../../../pipeline/dead-letters/dead-letters.ts";
import { firstIdAt } from "../../../pipeline/ledger/letter-keys.ts";
import type {
  LetterFilter,
  LetterGroup,
  DeadLetter as StoredDeadLetter,
} from "../../../pipeline/model/dead-letter.ts";
import {
  DEAD_LETTER_GROUPS_MAX,
  DEAD_LETTERS_PAGE_MAX,
  PAGE_ITEMS_MAX,
  REPLAY_FILTER_CHARS_MAX,
} from "../../../settings/limits.ts";
import { validationError } from "../../request/validation.ts";
import { streamList } from "../../response/list-stream.ts";
import { route } from "../../route.ts";
import { enveloped, Id, isoTime, paged, strict, Time } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { Rate, Replay, replayAnswer } from "./replays.ts";

const DeadLetter = Type.Object(
  {
    id: Type.String(),
    sourceId: Type.String(),
    destinationId: Type.String(),
    transformationVersionId: Type.Optional(Type.String()),
    messageId: Type.String(),
    stage: Type.Union([Type.Literal("transform"), Type.Literal("deliver")]),
    reason: Type.String(),
    line: Type.Optional(Type.Integer()),
    column: Type.Optional(Type.Integer()),
    attempts: Type.Integer(),
    event: Type.Unknown({ description: "As it entered the stage that failed" }),
    receivedAt: Time,
    createdAt: Time,
  },
  { $id: "DeadLetter" },
);

/** Maximum number of dead letters per read. Between reads, the event loop runs other requests. */
const LETTERS_AT_ONCE = 10;

/** Number of reads without a matching dead letter after which a page ends, perhaps empty. */
const FRUITLESS_READS_MAX = 5;

const filter = {
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
const Filter = Type.Object(filter, { ...strict, description: "An empty one finds all" });

function filterOf({ from, to, ...rest }: Static<typeof Filter>): LetterFilter {
  return {
    ...rest,
    ...(from !== undefined && { from: Date.parse(from) }),
    ...(to !== undefined && { to: Date.parse(to) }),
  };
}

const LetterSelection = Type.Object(
  {
    ids: Type.Optional(Type.Array(Id, { minItems: 1, maxItems: DEAD_LETTERS_PAGE_MAX })),
    filter: Type.Optional(Filter),
    all: Type.Optional(
      Type.Boolean({
        description: "All that a filter finds now, however many: answers a `replay` that runs",
      }),
    ),
    rate: Type.Optional({ ...Rate, description: "With `all`: dead letters replayed a second" }),
    before: Type.Optional({
      ...Time,
      description: "Of a filter, those alone that were given up before; else all until now",
    }),
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: DEAD_LETTERS_PAGE_MAX,
        default: DEAD_LETTERS_PAGE_MAX,
        description: "With a filter: how many of the oldest; `more` says whether some are left",
      }),
    ),
  },
  { ...strict, $id: "DeadLetterSelection", description: "Either `ids`, or a `filter`" },
);
type LetterSelection = Static<typeof LetterSelection>;

/** Fields after the list. A client needs them to request the rest with the same filter. */
const rest = {
  more: Type.Optional(Type.Boolean({ description: "With a filter: whether it finds more" })),
  before: Type.Optional({
    ...Time,
    description: "To be sent with the next, so that what fails again is not meant again",
  }),
  replay: Type.Optional(Replay),
};

const DeadLetterGroup = Type.Object(
  {
    id: Type.String(),
    destinationId: Type.String(),
    stage: Type.Union([Type.Literal("transform"), Type.Literal("deliver")]),
    reason: Type.String({
      description: "Of the first of them; the others may differ in long numbers and ids",
    }),
    count: Type.Integer(),
    lastAt: Time,
  },
  { $id: "DeadLetterGroup" },
);

export const deadLetterRoutes = [
  route("GET /v2/dead-letters", {
    summary: "List events that were not delivered, oldest first",
    aliases: ["/dead-letters"],
    needs: ["events:read"],
    query: {
      ...filter,
      after: Type.Optional({ ...Id, description: "Id of the last one seen" }),
      count: Type.Optional(
        Type.Integer({ minimum: 1, maximum: DEAD_LETTERS_PAGE_MAX, default: PAGE_ITEMS_MAX }),
      ),
    },
    answer: paged("deadLetters", DeadLetter),
    example: { answer: { deadLetters: [example.deadLetter], paging: { total: 1 } } },
    handle(call) {
      const { deps, workspaceId, query } = call;
      const { deadLetters } = deps.pipeline;
      const { count = PAGE_ITEMS_MAX, after: start, ...criteria } = query;
      let after = start;
      let goesOn = true;
      function* letters() {
        let fruitlessReads = 0;
        for (let left = count; left > 0 && goesOn && fruitlessReads < FRUITLESS_READS_MAX; ) {
          const part = { ...(after !== undefined && { after }), count: batchSize(left) };
          const found = deadLetters.find(workspaceId, { ...filterOf(criteria), ...part });
          fruitlessReads = found.letters.length > 0 ? 0 : fruitlessReads + 1;
          left -= found.letters.length;
          goesOn = found.reached !== undefined;
          after = found.reached;
          if (found.letters.length === 0) yield undefined;
          yield* found.letters.map(deadLetterAnswer);
        }
      }
      function rest() {
        const total = deadLetters.count(workspaceId, filterOf(criteria));
        if (!goesOn || after === undefined) return { paging: { total } };
        return { paging: { total, next: nextPage({ ...query, after }) } };
      }
      return streamList(call, "deadLetters", letters(), rest);
    },
  }),

  route("GET /v2/dead-letters/{id}", {
    summary: "Retrieve a dead letter",
    needs: ["events:read"],
    answer: enveloped("deadLetter", DeadLetter),
    example: {
      params: { id: example.ids.deadLetter },
      answer: { deadLetter: example.deadLetter },
    },
    handle({ deps, workspaceId, params }) {
      const deadLetter = deps.pipeline.deadLetters.get(workspaceId, params.id);
      if (!deadLetter) throw new ApiError("missing", "Dead letter not found");
      return { deadLetter: deadLetterAnswer(deadLetter) };
    },
  }),

  route("GET /v2/dead-letter-groups", {
    summary: "List why events were not delivered, and how often, most frequent first",
    aliases: ["/dead-letter-groups"],
    needs: ["events:read"],
    query: { destinationId: Type.Optional(Id) },
    answer: paged("deadLetterGroups", DeadLetterGroup),
    example: { answer: { deadLetterGroups: [example.deadLetterGroup], paging: { total: 1 } } },
    handle({ deps, workspaceId, query }) {
      const groups = deps.pipeline.deadLetters.groups(workspaceId, query.destinationId);
      return {
        deadLetterGroups: groups.slice(0, DEAD_LETTER_GROUPS_MAX).map(groupAnswer),
        paging: { total: groups.length },
      };
    },
  }),

  route("POST /v2/dead-letters/replay", {
    summary: "Send dead letters once more, through the code that is live now",
    needs: ["events:replay"],
    body: LetterSelection,
    answer: Type.Object({ replayed: Type.Integer(), ...rest }),
    example: {
      body: { ids: [example.ids.deadLetter] },
      answer: { replayed: 1 },
    },
    async handle({ deps, workspaceId, body }) {
      const { deadLetters, replays } = deps.pipeline;
      const all = allOf(body);
      if (all !== undefined) {
        const job = await replays.startLetters(workspaceId, { kind: "dead-letters", ...all });
        return { replayed: 0, replay: replayAnswer(job) };
      }
      const { ids, ...rest } = await selected(deadLetters, workspaceId, body);
      return { ...(await deadLetters.replay(workspaceId, ids)), ...rest };
    },
  }),

  route("POST /v2/dead-letters/purge", {
    summary: "Delete dead letters for good",
    needs: ["events:replay"],
    body: LetterSelection,
    answer: Type.Object({ purged: Type.Integer(), ...rest }),
    example: {
      body: { ids: [example.ids.deadLetter] },
      answer: { purged: 1 },
    },
    async handle({ deps, workspaceId, body }) {
      const { deadLetters, replays } = deps.pipeline;
      const all = allOf(body);
      if (all !== undefined) {
        const job = await replays.startLetters(workspaceId, { kind: "purge", ...all });
        return { purged: 0, replay: replayAnswer(job) };
      }
      const { ids, ...rest } = await selected(deadLetters, workspaceId, body);
      return { ...(await deadLetters.purge(workspaceId, ids)), ...rest };
    },
  }),
] as const;

/**
 * Returns the filter and rate of a request with `all`, which applies to all dead letters that
 * match. Undefined for a request without `all`. Throws when `all` comes with ids or without a
 * filter.
 */
function allOf({ ids, filter, all, rate }: LetterSelection) {
  if (all !== true) return undefined;
  if (ids !== undefined || filter === undefined) {
    throw validationError([{ path: "/all", message: "Expected a filter beside all, and no ids" }]);
  }
  return { filter: filterOf(filter), ...(rate !== undefined && { rate }) };
}

/**
 * Returns the ids of the dead letters that a request selects. `more` tells whether the request's
 * filter matches further dead letters. Throws unless the request has either ids or a filter.
 */
async function selected(
  deadLetters: DeadLetters,
  workspaceId: string,
  { ids, filter, before, count = DEAD_LETTERS_PAGE_MAX }: LetterSelection,
): Promise<{ ids: string[]; more?: boolean; before?: string }> {
  if ((ids === undefined) === (filter === undefined)) {
    const got = ids === undefined ? "neither" : "both";
    throw validationError([{ path: "", message: `Expected either ids or a filter, got ${got}` }]);
  }
  if (ids !== undefined) return { ids };
  const until = before === undefined ? Date.now() : Date.parse(before);
  const found: string[] = [];
  let after: string | undefined = "";
  while (after !== undefined && found.length <= count) {
    const part = { after, before: firstIdAt(until), count: count + 1 - found.length };
    const page = deadLetters.ids(workspaceId, filterOf(filter ?? {}), part);
    found.push(...page.ids);
    after = page.reached;
    // Lets the event loop run other requests.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { ids: found.slice(0, count), more: found.length > count, before: isoTime(until) };
}

const batchSize = (left: number) => Math.min(left, LETTERS_AT_ONCE);

function groupAnswer(group: LetterGroup): Static<typeof DeadLetterGroup> {
  const { workspaceId: _, lastAt, ...shown } = group;
  return { ...shown, lastAt: isoTime(lastAt) };
}

function nextPage(query: Record<string, string | number>): string {
  const sent = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) sent.set(key, String(value));
  return `/dead-letters?${sent}`;
}

function deadLetterAnswer(deadLetter: StoredDeadLetter): Static<typeof DeadLetter> {
  const { workspaceId: _, ...fields } = deadLetter;
  return {
    ...fields,
    receivedAt: isoTime(deadLetter.receivedAt),
    createdAt: isoTime(deadLetter.createdAt),
  };
}
