import { type Static, Type } from "@sinclair/typebox";
import { ApiError } from "../../errors.ts";
import { DEAD_LETTERS_PAGE_MAX, PAGE_ITEMS_MAX } from "../../limits.ts";
import type { DeadLetter as StoredDeadLetter } from "../../pipeline/dead-letters/dead-letter.ts";
import * as example from "../document/examples.ts";
import { listed } from "../listing.ts";
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

/** Read in one go; between two of these other requests get their turn. */
const LETTERS_AT_ONCE = 10;

const Ids = Type.Object(
  { ids: Type.Array(Id, { minItems: 1, maxItems: DEAD_LETTERS_PAGE_MAX }) },
  { $id: "DeadLetterIds" },
);

export const deadLetterRoutes = [
  route("GET /v2/dead-letters", {
    summary: "List events that were not delivered, oldest first",
    aliases: ["/dead-letters"],
    needs: ["events:read"],
    query: {
      destinationId: Type.Optional(Id),
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
        const total = deadLetters.count(workspaceId, query.destinationId);
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

  route("POST /v2/dead-letters/replay", {
    summary: "Send dead letters once more, through the code that is live now",
    needs: ["events:replay"],
    body: Ids,
    answer: Type.Object({ replayed: Type.Integer() }),
    example: { body: { ids: [example.ids.deadLetter] }, answer: { replayed: 1 } },
    handle: ({ parts, workspaceId, body }) =>
      parts.pipeline.deadLetters.replay(workspaceId, body.ids),
  }),

  route("POST /v2/dead-letters/purge", {
    summary: "Delete dead letters for good",
    needs: ["events:replay"],
    body: Ids,
    answer: Type.Object({ purged: Type.Integer() }),
    example: { body: { ids: [example.ids.deadLetter] }, answer: { purged: 1 } },
    handle: ({ parts, workspaceId, body }) =>
      parts.pipeline.deadLetters.purge(workspaceId, body.ids),
  }),
] as const;

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
