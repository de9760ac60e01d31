import { type Static, Type } from "@sinclair/typebox";
import { ApiError } from "../../../errors.ts";
import type { ReplayJob } from "../../../pipeline/model/replay-job.ts";
import { fractionDone } from "../../../pipeline/replays/progress.ts";
import {
  REPLAY_FILTER_CHARS_MAX,
  REPLAY_RATE_DEFAULT,
  REPLAY_RATE_MAX,
} from "../../../settings/limits.ts";
import { route } from "../../route.ts";
import { enveloped, Id, isoTime, paged, strict, Time } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";

export const Rate = Type.Integer({
  minimum: 1,
  maximum: REPLAY_RATE_MAX,
  default: REPLAY_RATE_DEFAULT,
  description: "Events a second, at most; live events go first",
});

const FilterText = Type.String({ minLength: 1, maxLength: REPLAY_FILTER_CHARS_MAX });
const EventFilter = Type.Object(
  {
    type: Type.Optional({ ...FilterText, description: "`page`, `track`, …" }),
    event: Type.Optional({ ...FilterText, description: "Of a track event, or name of a page" }),
    userId: Type.Optional(FilterText),
    anonymousId: Type.Optional(FilterText),
  },
  strict,
);

const NewReplay = Type.Object(
  {
    destinationId: Id,
    sourceId: Type.Optional({
      ...Id,
      description: "Absent: all sources that are connected to the destination",
    }),
    from: { ...Time, description: "When the first of the events was received, in ISO 8601" },
    to: Type.Optional({ ...Time, description: "Those received before; absent: until now" }),
    filter: Type.Optional(EventFilter),
    rate: Type.Optional(Rate),
  },
  { ...strict, $id: "NewReplay" },
);

export const Replay = Type.Object(
  {
    id: Type.String(),
    kind: Type.Union(
      [Type.Literal("events"), Type.Literal("dead-letters"), Type.Literal("purge")],
      { description: "What is sent again; a purge deletes dead letters" },
    ),
    state: Type.Union([
      Type.Literal("running"),
      Type.Literal("done"),
      Type.Literal("cancelled"),
      Type.Literal("failed"),
    ]),
    error: Type.Optional(Type.String({ description: "Why it failed" })),
    destinationId: Type.Optional(Type.String()),
    sourceId: Type.Optional(Type.String()),
    from: Type.Optional(Time),
    to: Type.Optional(Time),
    filter: Type.Optional(Type.Record(Type.String(), Type.String())),
    rate: Type.Integer({ description: "Events a second, at most" }),
    progress: Type.Number({ description: "From 0 to 1, by what was read of the log" }),
    counts: Type.Object(
      {
        done: Type.Integer(),
        delivered: Type.Integer(),
        dropped: Type.Integer({ description: "By code" }),
        failed: Type.Integer({ description: "Became dead letters" }),
        discarded: Type.Integer({ description: "On their way when it was cancelled" }),
        moved: Type.Integer({ description: "Dead letters on their way again, or deleted" }),
      },
      { description: "Events, or dead letters" },
    ),
    left: Type.Optional(Type.Integer({ description: "An estimate, once there is something done" })),
    perSecond: Type.Number({ description: "Done a second, over all of its time" }),
    reachedAt: Type.Optional({ ...Time, description: "When the last event came that was read" }),
    missingBefore: Type.Optional({
      ...Time,
      description: "Events of the time asked for that came before were not kept any more",
    }),
    createdAt: Time,
    endedAt: Type.Optional(Time),
  },
  { $id: "Replay" },
);

const params = { id: example.ids.replay };
const answer = { replay: example.replay };

export const replayRoutes = [
  route("GET /v2/replays", {
    summary: "List replays that run, and the last ones that ended, newest first",
    needs: ["events:read"],
    answer: paged("replays", Replay),
    example: { answer: { replays: [example.replay], paging: { total: 1 } } },
    handle({ deps, workspaceId }) {
      const replays = deps.pipeline.replays.list(workspaceId).map(replayAnswer);
      return { replays, paging: { total: replays.length } };
    },
  }),

  route("POST /v2/replays", {
    summary: "Send events of the log to a destination again, through the code that is live now",
    needs: ["events:replay"],
    body: NewReplay,
    answer: enveloped("replay", Replay),
    status: 201,
    example: {
      body: {
        destinationId: example.ids.destination,
        from: "2026-02-15T00:00:00Z",
        filter: { type: "page" },
      },
      answer,
    },
    async handle({ deps, workspaceId, body: { from, to, ...selection } }) {
      const replay = await deps.pipeline.replays.start(workspaceId, {
        ...selection,
        from: Date.parse(from),
        ...(to !== undefined && { to: Date.parse(to) }),
      });
      return { replay: replayAnswer(replay) };
    },
  }),

  route("GET /v2/replays/{id}", {
    summary: "Retrieve a replay, and how far it is",
    needs: ["events:read"],
    answer: enveloped("replay", Replay),
    example: { params, answer },
    handle: ({ deps, workspaceId, params }) =>
      foundReplay(deps.pipeline.replays.get(workspaceId, params.id)),
  }),

  route("POST /v2/replays/{id}/cancel", {
    summary: "End a replay; one that has ended stays as it is",
    needs: ["events:replay"],
    answer: enveloped("replay", Replay),
    example: { params, answer },
    handle: async ({ deps, workspaceId, params }) =>
      foundReplay(await deps.pipeline.replays.cancel(workspaceId, params.id)),
  }),
] as const;

function foundReplay(job: ReplayJob | undefined) {
  if (job === undefined) throw new ApiError("missing", "Replay not found");
  return { replay: replayAnswer(job) };
}

export function replayAnswer(job: ReplayJob): Static<typeof Replay> {
  const { id, kind, state, error, rate, counts, createdAt, endedAt } = job;
  const { delivered, dropped, failed, discarded, moved } = counts;
  const done = delivered + dropped + failed + discarded + moved;
  const progress = state === "done" ? 1 : fractionDone(job);
  const left =
    kind === "events" ? Math.round((done * (1 - progress)) / progress) : job.total - job.seen;
  const seconds = ((endedAt ?? Date.now()) - createdAt) / 1_000;
  return {
    id,
    kind,
    state,
    rate,
    progress,
    counts: { done, ...counts },
    ...(job.kind === "events" && rangeAnswer(job)),
    ...(job.filter !== undefined && { filter: filterAnswer(job.filter) }),
    ...(error !== undefined && { error }),
    ...(state === "running" && Number.isFinite(left) && { left }),
    perSecond: Math.round((done / Math.max(1, seconds)) * 10) / 10,
    createdAt: isoTime(createdAt),
    ...(endedAt !== undefined && { endedAt: isoTime(endedAt) }),
  };
}

function rangeAnswer(job: ReplayJob & { kind: "events" }) {
  const { destinationId, sourceId, from, to, reachedAt, missingBefore } = job;
  return {
    destinationId,
    from: isoTime(from),
    to: isoTime(to),
    ...(sourceId !== undefined && { sourceId }),
    ...(reachedAt !== undefined && { reachedAt: isoTime(reachedAt) }),
    ...(missingBefore !== undefined && { missingBefore: isoTime(missingBefore) }),
  };
}

/**
 * Returns the filter of a replay of dead letters (events that were given up) as responses show it,
 * with times in ISO 8601.
 */
function filterAnswer(filter: object): Record<string, string> {
  return Object.fromEntries(
    Object.entries(filter).map(([key, value]) => [
      key,
      typeof value === "number" ? isoTime(value) : String(value),
    ]),
  );
}
