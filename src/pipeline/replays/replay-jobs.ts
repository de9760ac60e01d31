import type { Live } from "../../catalog/live.ts";
import { defined } from "../../defined.ts";
import { ApiError, messageOf } from "../../errors.ts";
import type { LogReader } from "../../log/event-log.ts";
import type { Positions } from "../../log/positions.ts";
import { firstTime, positionAt, type TimeOf } from "../../log/time-search.ts";
import { REPLAY_RATE_DEFAULT, REPLAY_RATE_MAX } from "../../settings/limits.ts";
import type { Clock } from "../clock.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { firstIdAt } from "../ledger/letter-keys.ts";
import { type EventJob, type LetterJob, noCounts, type ReplayJob } from "../model/replay-job.ts";
import { endJob } from "./expire.ts";
import { mergeJobs } from "./merge-jobs.ts";

/**
 * Request to deliver a time range of the event log again. Times are milliseconds since the Unix
 * epoch.
 */
interface EventReplayRequest
  extends Pick<EventJob, "destinationId" | "sourceId" | "from" | "filter" | "startedBy"> {
  /** End of the time range. If absent or in the future, the current time is used instead. */
  to?: number;
  /** Events per second; absent for the default rate. */
  rate?: number;
}

/** Request to requeue dead letters, or to delete them (purge). */
interface LetterReplayRequest extends Pick<LetterJob, "kind" | "filter" | "startedBy"> {
  /** Letters per second; absent for the default rate. Ignored for a purge. */
  rate?: number;
  /**
   * Time in milliseconds since the epoch. Only letters that were created before it are requeued or
   * deleted. If absent or in the future, the current time is used instead.
   */
  before?: number | undefined;
}

interface ReplayJobsParts {
  live: Live;
  /**
   * Ledgers (stores of delivery progress) of all partitions. A job is stored in each, with its
   * progress in that partition's logs.
   */
  ledgers(): readonly Ledger[];
  readers: ReadonlyMap<string, LogReader>;
  timeOf: TimeOf;
  logEnds(): Promise<Positions>;
  /**
   * Makes the deliveries to the destinations `destinationIds` check for replays that began or
   * ended.
   */
  wake(destinationIds: readonly string[]): void;
  clock: Pick<Clock, "now">;
}

/** Maximum number of sources in one replay. */
const REPLAY_SOURCES_MAX = 1_000;
/**
 * Maximum number of milliseconds by which the wall clock can be set back without making a replay
 * miss events. A replay of a time range reads the log from this long before the range to this long
 * after it.
 */
const CLOCK_STEP_MS_MAX = 600_000;

/**
 * Creates the functions that start, list and cancel replay jobs. A job delivers events or dead
 * letters again, or deletes dead letters.
 */
export function createReplayJobs(parts: ReplayJobsParts) {
  const { ledgers, wake } = parts;
  const get = (workspaceId: string, id: string) =>
    mergeJobs(ledgers().flatMap((ledger) => ledger.jobs.get(workspaceId, id) ?? []));
  return {
    /**
     * Starts a replay of events and returns its job. Throws an `ApiError` when:
     * - the destination or the source is not in this workspace
     * - the destination is disabled or not delivered by pixelmill
     * - the range is not in the past
     * - a limit is exceeded
     */
    async start(workspaceId: string, request: EventReplayRequest) {
      const job = await eventJob(parts, workspaceId, request);
      await startAll(
        parts,
        ledgers().map((ledger) => ({ ledger, job })),
      );
      wake([job.destinationId]);
      return job;
    },
    /** Starts a job that requeues or deletes the dead letters that match the request's filter. */
    async startLetters(workspaceId: string, request: LetterReplayRequest) {
      const created = createLetterJob(workspaceId, request, parts.clock.now());
      const { groupId } = request.filter;
      const [group] =
        groupId === undefined
          ? []
          : ledgers().flatMap(({ letters }) => letters.groups.get(workspaceId, groupId) ?? []);
      const scope = group && { destinationId: group.destinationId, reason: group.reason };
      const job = { ...created, ...scope };
      const all = ledgers().map((ledger) => {
        return { ledger, total: ledger.letters.countOf(workspaceId, request.filter) };
      });
      const sum = all.reduce((letters, { total }) => letters + Math.max(1, total), 0);
      // The rate applies to all ledgers together.
      const rateOf = (total: number) => (job.rate * Math.max(1, total)) / sum;
      await startAll(
        parts,
        all.map(({ ledger, total }) => ({ ledger, job: { ...job, total, rate: rateOf(total) } })),
      );
      wake([]);
      return get(workspaceId, job.id)!;
    },
    get,
    /** Lists running jobs and the most recently ended ones, newest first. */
    list(workspaceId: string) {
      const all = ledgers().flatMap((ledger) => ledger.jobs.list(workspaceId));
      const jobs = [...Map.groupBy(all, ({ id }) => id).values()].map((it) => mergeJobs(it)!);
      return jobs.sort((one, other) => (one.id < other.id ? 1 : -1));
    },
    /**
     * Cancels a job if it is still running, and returns it; undefined for an unknown id. Events
     * that are being sent may still reach the destination.
     */
    async cancel(workspaceId: string, id: string) {
      for (const ledger of ledgers()) {
        const job = ledger.jobs.get(workspaceId, id);
        if (job?.state !== "running") continue;
        await endJob({ ...parts, ledger }, job, { state: "cancelled" });
      }
      return get(workspaceId, id);
    },
  };
}

/**
 * Stores and starts one copy of a job in each ledger (store of delivery progress). Throws without
 * storing any copy if a ledger refuses the job. If storing fails after that, ends all copies as
 * failed and throws.
 */
async function startAll(
  parts: Pick<ReplayJobsParts, "wake" | "clock">,
  copies: readonly { ledger: Ledger; job: ReplayJob }[],
): Promise<void> {
  for (const { ledger, job } of copies) ledger.jobs.expectRoom(job);
  try {
    for (const { ledger, job } of copies) await ledger.changeJobs((jobs) => jobs.start(job));
  } catch (error) {
    const how = { state: "failed", error: messageOf(error) } as const;
    await Promise.allSettled(
      copies.map(({ ledger, job }) => endJob({ ...parts, ledger }, job, how)),
    );
    throw error;
  }
}

/** Creates, without storing, a job that requeues or deletes dead letters that match a filter. */
export function createLetterJob(
  workspaceId: string,
  request: LetterReplayRequest,
  now: number,
): LetterJob {
  const { kind, filter, rate = REPLAY_RATE_DEFAULT, before = now, startedBy } = request;
  const { destinationId } = filter;
  return {
    id: Bun.randomUUIDv7("hex", now),
    ...(startedBy && { startedBy }),
    ...(destinationId !== undefined && { destinationId }),
    workspaceId,
    kind,
    state: "running",
    filter,
    rate: kind === "purge" ? REPLAY_RATE_MAX : rate,
    createdAt: now,
    counts: noCounts,
    after: "",
    before: firstIdAt(Math.min(before, now)),
    seen: 0,
    total: 0,
  };
}

async function eventJob(
  parts: ReplayJobsParts,
  workspaceId: string,
  request: EventReplayRequest,
): Promise<EventJob> {
  const { live, clock } = parts;
  const { destinationId, sourceId, from, filter, rate = REPLAY_RATE_DEFAULT, startedBy } = request;
  const destination = live.destination(destinationId);
  if (destination?.workspaceId !== workspaceId) {
    throw new ApiError("missing", "Destination not found");
  }
  if (destination.deliveredBy !== undefined) {
    throw new ApiError("conflict", "Expected a destination that pixelmill delivers, got another");
  }
  if (!destination.enabled) {
    throw new ApiError("conflict", "Expected a destination that is enabled, got a disabled one");
  }
  const now = clock.now();
  const to = Math.min(request.to ?? now, now);
  if (from >= to) {
    throw new ApiError("invalid", "Expected `from` to be before `to`, and in the past");
  }
  const sources = sourcesOf(parts, workspaceId, request);
  const { starts, ends } = await positionRange(parts, { from, to, now });
  const missingBefore = await missingTime(parts, { from, to });
  const cursors = Object.entries(starts).map(([log, next]) => [log, { next, pending: [] }]);
  return {
    id: Bun.randomUUIDv7("hex", now),
    workspaceId,
    kind: "events",
    state: "running",
    destinationId,
    sources,
    from,
    to,
    rate,
    starts,
    ends,
    createdAt: now,
    ...(startedBy && { startedBy }),
    ...defined({ sourceId, filter, missingBefore }),
    logs: Object.fromEntries(cursors),
    counts: noCounts,
  };
}

function sourcesOf(
  { live }: ReplayJobsParts,
  workspaceId: string,
  { sourceId, destinationId }: EventReplayRequest,
): string[] {
  if (sourceId !== undefined) {
    if (live.sourceById(sourceId)?.workspaceId === workspaceId) return [sourceId];
    throw new ApiError("missing", "Source not found");
  }
  const sources = (live.lane(destinationId)?.connections ?? []).map(
    (connection) => connection.sourceId,
  );
  if (sources.length > 0 && sources.length <= REPLAY_SOURCES_MAX) return sources;
  const message =
    sources.length === 0
      ? "Expected a `sourceId`, or a destination that is connected to a source"
      : `Expected a \`sourceId\`, since the destination has more than ${REPLAY_SOURCES_MAX} sources`;
  throw new ApiError("invalid", message);
}

/**
 * Returns for each log a range of positions that contains all records with a time of receipt in the
 * given time range. It may also contain other records.
 */
async function positionRange(
  { readers, timeOf, logEnds }: ReplayJobsParts,
  { from, to, now }: { from: number; to: number; now: number },
): Promise<{ starts: Positions; ends: Positions }> {
  const starts: Record<string, number> = {};
  const ends: Record<string, number> = {};
  for (const [log, end] of Object.entries(await logEnds())) {
    const reader = readers.get(log);
    if (reader === undefined) continue;
    const last = to + CLOCK_STEP_MS_MAX;
    ends[log] = last > now ? end : Math.min(end, await positionAt(reader, last, timeOf));
    const start = await positionAt(reader, from - CLOCK_STEP_MS_MAX, timeOf);
    starts[log] = Math.min(start, ends[log]);
  }
  return { starts, ends };
}

/**
 * Returns the time before which events of a time range are missing, because a log was trimmed;
 * undefined when none is missing. Also covers logs without any record of the range, which a replay
 * does not read.
 */
async function missingTime(
  { readers, timeOf }: ReplayJobsParts,
  { from, to }: { from: number; to: number },
): Promise<number | undefined> {
  let missing: number | undefined;
  for (const reader of readers.values()) {
    const oldest = reader.first() === 0 ? from : ((await firstTime(reader, timeOf)) ?? to);
    if (oldest > from) missing = Math.max(missing ?? 0, Math.min(oldest, to));
  }
  return missing;
}
