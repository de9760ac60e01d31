import { type Static, Type } from "@sinclair/typebox";
import { ApiError } from "../../errors.ts";
import { DEAD_LETTER_GROUPS_MAX, DEAD_LETTERS_PAGE_MAX, PAGE_ITEMS_MAX } from "../../limits.ts";
import type {
  DeadLetters,
  DeadLetter as StoredDeadLetter,
} from "../../pipeline/dead-letters/dead-letter.ts";
import type { LetterGroup } from "../../pipeline/dead-letters/groups.ts";
import * as example from "../document/examples.ts";
import { listed } from "../listing.ts";
import { invalid } from "../request-validation.ts";
import { route } from "../route.ts";
import { enveloped, Id, paged, Time } from "../schema/pieces.ts";
import { isoTime } from "../transformation-answers.ts";

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

/** Dead letters read in one go; between two such reads other requests get their turn. */
const LETTERS_AT_ONCE = 10;

const filter = {
  destinationId: Type.Optional(Id),
  groupId: Type.Optional({ ...Id, description: "Id of a group of dead letters" }),
};

const Selection = Type.Object(
  {
    ids: Type.Optional(Type.Array(Id, { minItems: 1, maxItems: DEAD_LETTERS_PAGE_MAX })),
    filter: Type.Optional(Type.Object(filter, { description: "An empty one finds all" })),
    before: Type.Optional({
      ...Time,
      description: "Of a filter, those alone that were given up before; else all until now",
    }),
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: DEAD_LETTERS_PAGE_MAX,
        default: DEAD_LETTERS_PAGE_MAX,
        description: "Of a filter, so many of the oldest; `more` says whether some are left",
      }),
    ),
  },
  { $id: "DeadLetterSelection", description: "Either `ids`, or a `filter`" },
);
type Selection = Static<typeof Selection>;

/** What the answer to a filter says for the next request. */
const rest = {
  more: Type.Optional(Type.Boolean({ description: "With a filter: whether it finds more" })),
  before: Type.Optional({
    ...Time,
    description: "To be sent with the next, so that what fails again is not meant again",
  }),
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
      const { parts, workspaceId, query } = call;
      const { deadLetters } = parts.pipeline;
      const { count = PAGE_ITEMS_MAX, ...asked } = query;
      let { after } = query;
      function* letters() {
        for (let left = count; left > 0; ) {
          const filter = { ...asked, ...(after !== undefined && { after }) };
          const lot = Math.min(left, LETTERS_AT_ONCE);
          const found = deadLetters.list(workspaceId, { ...filter, count: lot });
          if (found.length === 0) return;
          after = found.at(-1)?.id;
          left -= found.length;
          yield* found.map(deadLetterAnswer);
        }
      }
      function rest() {
        const total = deadLetters.count(workspaceId, query);
        if (after === undefined) return { paging: { total } };
        const more = deadLetters.list(workspaceId, { ...asked, after, count: 1 }).length > 0;
        return { paging: { total, ...(more && { next: nextPage({ ...query, after }) }) } };
      }
      return listed(call, "deadLetters", letters(), rest);
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
    handle({ parts, workspaceId, params }) {
      const deadLetter = parts.pipeline.deadLetters.get(workspaceId, params.id);
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
    handle({ parts, workspaceId, query }) {
      const groups = parts.pipeline.deadLetters.groups(workspaceId, query.destinationId);
      return {
        deadLetterGroups: groups.slice(0, DEAD_LETTER_GROUPS_MAX).map(groupAnswer),
        paging: { total: groups.length },
      };
    },
  }),

  route("POST /v2/dead-letters/replay", {
    summary: "Send dead letters once more, through the code that is live now",
    needs: ["events:replay"],
    body: Selection,
    answer: Type.Object({ replayed: Type.Integer(), ...rest }),
    example: {
      body: { ids: [example.ids.deadLetter] },
      answer: { replayed: 1 },
    },
    async handle({ parts, workspaceId, body }) {
      const { deadLetters } = parts.pipeline;
      const { ids, ...rest } = selected(deadLetters, workspaceId, body);
      return { ...(await deadLetters.replay(workspaceId, ids)), ...rest };
    },
  }),

  route("POST /v2/dead-letters/purge", {
    summary: "Delete dead letters for good",
    needs: ["events:replay"],
    body: Selection,
    answer: Type.Object({ purged: Type.Integer(), ...rest }),
    example: {
      body: { ids: [example.ids.deadLetter] },
      answer: { purged: 1 },
    },
    async handle({ parts, workspaceId, body }) {
      const { deadLetters } = parts.pipeline;
      const { ids, ...rest } = selected(deadLetters, workspaceId, body);
      return { ...(await deadLetters.purge(workspaceId, ids)), ...rest };
    },
  }),
] as const;

/** The dead letters that a body selects, and whether its filter finds more of them. */
function selected(
  deadLetters: DeadLetters,
  workspaceId: string,
  { ids, filter, before, count = DEAD_LETTERS_PAGE_MAX }: Selection,
): { ids: string[]; more?: boolean; before?: string } {
  if ((ids === undefined) === (filter === undefined)) {
    const got = ids === undefined ? "neither" : "both";
    throw invalid([{ path: "", message: `Expected either ids or a filter, got ${got}` }]);
  }
  if (ids !== undefined) return { ids };
  const until = before === undefined ? Date.now() : Date.parse(before);
  const found = deadLetters.ids(workspaceId, filter ?? {}, until, count + 1);
  return { ids: found.slice(0, count), more: found.length > count, before: isoTime(until) };
}

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
