import { Type } from "@sinclair/typebox";
import { ApiError } from "../../../errors.ts";
import { createLetterJob } from "../../../pipeline/replays/replay-jobs.ts";
import {
  DEAD_LETTER_GROUPS_MAX,
  DEAD_LETTERS_PAGE_MAX,
  PAGE_ITEMS_MAX,
} from "../../../settings/limits.ts";
import { optionalInteger } from "../../../settings/schema-types.ts";
import { authorOf } from "../../author.ts";
import { streamList } from "../../response/list-stream.ts";
import { type RequestContext, route } from "../../route.ts";
import { enveloped, Id, isoTime, paged, Time } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import {
  DeadLetter,
  DeadLetterGroup,
  DeadLetterGroupDetails,
  deadLetterAnswer,
  groupAnswer,
  groupDetailsAnswer,
} from "./letter-answers.ts";
import {
  allOf,
  expectCount,
  filterOf,
  filterQuery,
  LetterSelection,
  restFields,
  selected,
} from "./letter-selection.ts";
import { replayAnswer } from "./replays.ts";

/**
 * Maximum number of dead letters that are read at once. Other requests run before the next read.
 */
const LETTERS_AT_ONCE = 10;
const batchSize = (left: number) => Math.min(left, LETTERS_AT_ONCE);
/**
 * Number of successive reads without a matching dead letter after which a page ends, even if the
 * page is empty. The client continues with the next page.
 */
const FRUITLESS_READS_MAX = 5;

const AsOf = Type.Object({
  asOf: {
    ...Time,
    description: "Time of this answer: as `before` of a replay or purge, it leaves out newer ones",
  },
});
const asOf = example.deadLetterGroup.lastAt;

export const deadLetterRoutes = [
  route("GET /v2/dead-letters", {
    summary: "List events that were not delivered, oldest first",
    aliases: ["/dead-letters"],
    needs: ["events:read"],
    query: {
      ...filterQuery,
      after: Type.Optional({ ...Id, description: "Id of the last one seen" }),
      count: optionalInteger(1, DEAD_LETTERS_PAGE_MAX, { default: PAGE_ITEMS_MAX }),
    },
    answer: Type.Composite([paged("deadLetters", DeadLetter), AsOf]),
    example: { answer: { deadLetters: [example.deadLetter], paging: { total: 1 }, asOf } },
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
        const asOf = isoTime(Date.now());
        if (!goesOn || after === undefined) return { paging: { total }, asOf };
        return { paging: { total, next: nextPage({ ...query, after }) }, asOf };
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
    answer: Type.Composite([
      paged("deadLetterGroups", DeadLetterGroup),
      AsOf,
      Type.Object({ letters: Type.Integer({ description: "Dead letters of all groups" }) }),
    ]),
    example: {
      answer: {
        deadLetterGroups: [example.deadLetterGroup],
        paging: { total: 1 },
        asOf,
        letters: 1,
      },
    },
    handle({ deps, workspaceId, query }) {
      const { deadLetters } = deps.pipeline;
      const groups = deadLetters.groups(workspaceId, query.destinationId);
      return {
        deadLetterGroups: groups.slice(0, DEAD_LETTER_GROUPS_MAX).map(groupAnswer),
        paging: { total: groups.length },
        asOf: isoTime(Date.now()),
        letters: deadLetters.count(workspaceId, query),
      };
    },
  }),

  route("GET /v2/dead-letter-groups/{id}", {
    summary: "Retrieve why events were not delivered, with a few of the receiver's answers",
    needs: ["events:read"],
    answer: enveloped("deadLetterGroup", DeadLetterGroupDetails),
    example: {
      params: { id: example.deadLetterGroup.id },
      answer: {
        deadLetterGroup: {
          ...example.deadLetterGroup,
          responses: [{ at: example.deadLetterGroup.lastAt, response: example.response }],
        },
      },
    },
    handle({ deps, workspaceId, params }) {
      const group = deps.pipeline.deadLetters.group(workspaceId, params.id);
      if (!group) throw new ApiError("missing", "Group of dead letters not found");
      return { deadLetterGroup: groupDetailsAnswer(group) };
    },
  }),

  route("POST /v2/dead-letters/replay", {
    summary: "Send dead letters once more, through the code that is live now",
    needs: ["events:replay"],
    audit: "dead-letter.replay",
    body: LetterSelection,
    answer: Type.Object({ replayed: Type.Integer(), ...restFields }),
    example: {
      body: { ids: [example.ids.deadLetter] },
      answer: { replayed: 1 },
    },
    async handle(call) {
      const { count: replayed, ...rest } = await carryOut(call, "dead-letters");
      return { replayed, ...rest };
    },
  }),

  route("POST /v2/dead-letters/purge", {
    summary: "Delete dead letters for good",
    needs: ["events:replay"],
    audit: "dead-letter.purge",
    body: LetterSelection,
    answer: Type.Object({ purged: Type.Integer(), ...restFields }),
    example: {
      body: { ids: [example.ids.deadLetter] },
      answer: { purged: 1 },
    },
    async handle(call) {
      const { count: purged, ...rest } = await carryOut(call, "purge");
      return { purged, ...rest };
    },
  }),
] as const;

/**
 * Replays the dead letters that a request selects, or deletes them (`purge`). `count` is their
 * number, but 0 for a request with `all`, which only starts a job. Rejects before any change if the
 * filter finds more than `expected`.
 */
async function carryOut(
  { deps, workspaceId, principal, body }: RequestContext<string, unknown, LetterSelection>,
  kind: "dead-letters" | "purge",
) {
  const { deadLetters, replays } = deps.pipeline;
  await expectCount(deadLetters, workspaceId, body);
  const all = allOf(body);
  const startedBy = authorOf(deps, principal);
  if (all !== undefined) {
    const started = await replays.startLetters(workspaceId, { ...all, kind, startedBy });
    return { count: 0, replay: replayAnswer(started) };
  }
  const { ids, ...rest } = await selected(deadLetters, workspaceId, body);
  const request = { kind, filter: filterOf(body.filter ?? {}), startedBy };
  const job = createLetterJob(workspaceId, request, Date.now());
  const record = body.ids === undefined ? job : { ...job, isSelection: true as const };
  const count =
    kind === "purge"
      ? (await deadLetters.purge(workspaceId, ids, record)).purged
      : (await deadLetters.replay(workspaceId, ids, record)).replayed;
  const stored = replays.get(workspaceId, record.id);
  return { count, ...(stored && { replay: replayAnswer(stored) }), ...rest };
}

function nextPage(query: Record<string, string | number>): string {
  const sent = Object.entries(query).map(([key, value]): [string, string] => [key, `${value}`]);
  return `/dead-letters?${new URLSearchParams(sent)}`;
}
