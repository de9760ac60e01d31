import { type Static, Type } from "@sinclair/typebox";
import { ApiError } from "../../../errors.ts";
import { PROPERTY_PATTERN, propertyExpected } from "../../../event/content-filter.ts";
import { pendingLetters, type ReplayJob } from "../../../pipeline/model/replay-job.ts";
import { fractionDone } from "../../../pipeline/replays/progress.ts";
import {
  REPLAY_FILTER_CHARS_MAX,
  REPLAY_RATE_DEFAULT,
  REPLAY_RATE_MAX,
  SEARCH_EVENTS_MAX,
} from "../../../settings/limits.ts";
import { component, oneOf, optionalFlag, text } from "../../../settings/schema-types.ts";
import { authorOf } from "../../author.ts";
import { route } from "../../route.ts";
import { answerOf, enveloped, Id, isoTime, paged, strict, Time } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import type { StatusDeps } from "../status/local-status.ts";
import type { destinationStates } from "../status/status-schema.ts";
import { measure } from "../status/workspace-state.ts";

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
    event: Type.Optional({ ...FilterText, description: "Name of a track event" }),
    userId: Type.Optional(FilterText),
    anonymousId: Type.Optional(FilterText),
    property: Type.Optional({
      ...FilterText,
      pattern: PROPERTY_PATTERN,
      "x-expected": propertyExpected(REPLAY_FILTER_CHARS_MAX),
      description: "Path and value of a field, such as `properties.plan=pro`",
    }),
    text: Type.Optional({
      ...FilterText,
      description: 'A part of its JSON, such as `"plan":"pro"`, or of a value; in any case',
    }),
    messageIds: Type.Optional(
      Type.Array(FilterText, {
        minItems: 1,
        maxItems: SEARCH_EVENTS_MAX,
        description: "Of the events to send, as a search answers them",
      }),
    ),
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

export const Replay = component("Replay", {
  id: Type.String(),
  kind: oneOf(["events", "dead-letters", "purge"], {
    description: "What is sent again; a purge deletes dead letters",
  }),
  state: oneOf(["running", "done", "cancelled", "failed"]),
  error: Type.Optional(text("Why it failed")),
  waitsFor: Type.Optional(text("Why its destination accepts nothing now")),
  startedBy: Type.Optional(
    Type.Object(
      { id: Type.String(), name: Type.String() },
      { description: "The member, or the service token" },
    ),
  ),
  destinationId: Type.Optional(text("Absent for dead letters of several destinations")),
  reason: Type.Optional(text("For which all its dead letters had been given up")),
  isSelection: optionalFlag("Dead letters selected by their ids"),
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
      failed: Type.Integer({ description: "Became dead letters, or dead letters again" }),
      discarded: Type.Integer({
        description: "Not sent: cancelled, destination gone, or sent with another dead letter",
      }),
      moved: Type.Integer({ description: "Dead letters on their way again, or deleted" }),
      pending: Type.Integer({ description: "Dead letters on their way, without an outcome yet" }),
    },
    { description: "Events, or dead letters" },
  ),
  failures: Type.Optional(
    Type.Array(
      Type.Object({
        groupId: Type.Optional(text("Id of their group of dead letters")),
        reason: Type.String(),
        count: Type.Integer(),
      }),
      { description: "The reasons of those that failed, most frequent first" },
    ),
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
});

const params = { id: example.ids.replay };
const answer = { replay: example.replay };

export const replayRoutes = [
  route("GET /v2/replays", {
    summary: "List replays that run, and the last ones that ended, newest first",
    needs: ["events:read"],
    answer: paged("replays", Replay),
    example: { answer: { replays: [example.replay], paging: { total: 1 } } },
    async handle({ deps, workspaceId }) {
      const jobs = deps.pipeline.replays.list(workspaceId);
      const waits = await replayWaits(deps, workspaceId, jobs);
      const replays = jobs.map((job) => replayAnswer(job, waits.get(job.id)));
      return { replays, paging: { total: replays.length } };
    },
  }),

  route("POST /v2/replays", {
    summary: "Send events of the log to a destination again, through the code that is live now",
    needs: ["events:replay"],
    audit: "replay.start",
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
    async handle({ deps, workspaceId, principal, body: { from, to, filter, ...selection } }) {
      const replay = await deps.pipeline.replays.start(workspaceId, {
        ...selection,
        ...(filter && { filter }),
        startedBy: authorOf(deps, principal),
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
    async handle({ deps, workspaceId, params }) {
      const job = deps.pipeline.replays.get(workspaceId, params.id);
      const waits = await replayWaits(deps, workspaceId, job === undefined ? [] : [job]);
      return foundReplay(job, waits.get(params.id));
    },
  }),

  route("POST /v2/replays/{id}/cancel", {
    summary: "End a replay; one that has ended stays as it is",
    needs: ["events:replay"],
    audit: "replay.cancel",
    answer: enveloped("replay", Replay),
    example: { params, answer },
    handle: async ({ deps, workspaceId, params }) =>
      foundReplay(await deps.pipeline.replays.cancel(workspaceId, params.id)),
  }),
] as const;

function foundReplay(job: ReplayJob | undefined, waitsFor?: string) {
  if (job === undefined) throw new ApiError("missing", "Replay not found");
  return { replay: replayAnswer(job, waitsFor) };
}

/**
 * Converts a replay for a response. `waitsFor` says why the replay's destination accepts no events
 * now.
 */
export function replayAnswer(job: ReplayJob, waitsFor?: string): Static<typeof Replay> {
  const { kind, counts, failures = [], filter, createdAt, endedAt } = job;
  const { delivered, dropped, failed, discarded, moved } = counts;
  const outcome = outcomeOf(job);
  const done = kind === "events" ? delivered + dropped + failed + discarded : moved;
  const pending = kind === "events" ? 0 : pendingLetters(job);
  const progress = job.state === "done" ? 1 : fractionDone(job);
  const left =
    kind === "events" ? Math.round((done * (1 - progress)) / progress) : job.total - job.seen;
  const shownFailures = failures.map(({ groupId, ...failure }) =>
    groupId === "" ? failure : { groupId, ...failure },
  );
  const seconds = ((endedAt ?? Date.now()) - createdAt) / 1_000;
  return answerOf(Replay, {
    ...job,
    ...outcome,
    waitsFor,
    progress,
    counts: { done, ...counts, pending },
    filter: filter && filterAnswer(filter),
    failures: failures.length > 0 ? shownFailures : undefined,
    left: outcome.state === "running" && Number.isFinite(left) ? left : undefined,
    perSecond: Math.round((done / Math.max(1, seconds)) * 10) / 10,
  });
}

/**
 * Returns the state of a replay as responses show it: a replay that is done counts as failed if all
 * of its events became dead letters.
 */
function outcomeOf({ state, error, counts }: ReplayJob): Pick<ReplayJob, "state" | "error"> {
  const { delivered, dropped, failed } = counts;
  if (state !== "done" || failed === 0 || delivered + dropped > 0) {
    return { state, ...(error !== undefined && { error }) };
  }
  return { state: "failed", error: "No event was delivered: all became dead letters" };
}

/** Returns the filter of a replay as responses show it, with times in ISO 8601. */
function filterAnswer(filter: object): Record<string, string> {
  return Object.fromEntries(
    Object.entries(filter).map(([key, value]) => [
      key,
      typeof value === "number" ? isoTime(value) : String(value),
    ]),
  );
}

/**
 * States in which a destination accepts no events, each with a sentence that is used if the
 * destination reports no reason. The sentence is empty for a state that always comes with a reason.
 */
const STOPPED: Partial<Record<(typeof destinationStates)[number], string>> = {
  down: "",
  failing: "",
  blocked: "",
  suspended: "Its user code is suspended",
  paused: "The destination is disabled",
};

/**
 * Returns, by job id, a sentence for each replay job whose events wait. The sentence says why the
 * job's destination accepts no events at present.
 */
export async function replayWaits(
  deps: StatusDeps,
  workspaceId: string,
  jobs: readonly ReplayJob[],
): Promise<ReadonlyMap<string, string>> {
  const underWay = jobs.filter(isUnderWay);
  const ids = new Set(underWay.flatMap(({ destinationId }) => destinationId ?? []));
  const destinations = deps.catalog.destinations.withIds(workspaceId, [...ids]);
  if (destinations.length === 0) return new Map();
  const measured = await measure(deps, workspaceId, destinations);
  const states = new Map(measured.destinations.map((it) => [it.id, it]));
  const waits = new Map<string, string>();
  for (const { id, destinationId = "" } of underWay) {
    const { state, reason } = states.get(destinationId) ?? {};
    const sentence = state && STOPPED[state];
    if (sentence !== undefined) waits.set(id, reason ?? sentence);
  }
  return waits;
}

/** Whether a replay job has events that are not delivered yet. */
function isUnderWay(job: ReplayJob): boolean {
  return job.kind === "events" ? job.state === "running" : pendingLetters(job) > 0;
}
