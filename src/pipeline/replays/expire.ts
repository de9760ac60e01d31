import type { Live } from "../../catalog/live.ts";
import type { Logger } from "../../observe/log.ts";
import { REPLAY_MS_MAX } from "../../settings/limits.ts";
import type { Clock } from "../clock.ts";
import { isMoved, type JobEnd } from "../ledger/job-tables.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { ReplayJob } from "../model/replay-job.ts";

interface ExpireParts {
  live: Pick<Live, "destination">;
  ledger: Ledger;
  /**
   * Makes the deliveries to the destinations `destinationIds` check for replays that began or
   * ended.
   */
  wake(destinationIds: readonly string[]): void;
  clock: Pick<Clock, "now" | "age">;
  logger: Logger;
}

/**
 * Ends a replay job with the state and error in `how`. Does nothing when the job has ended before.
 * Returns the job as it is stored; undefined for an unknown job.
 */
export async function endJob(
  { ledger, wake, clock }: Pick<ExpireParts, "ledger" | "wake"> & { clock: Pick<Clock, "now"> },
  job: ReplayJob,
  how: Omit<JobEnd, "endedAt">,
): Promise<ReplayJob | undefined> {
  const end = { ...how, endedAt: clock.now() };
  const ended = await ledger.changeJobs((jobs) => jobs.end(job.workspaceId, job.id, end));
  if (job.kind === "events") wake([job.destinationId]);
  return ended;
}

/**
 * Ends running replay jobs that cannot complete, with the state `failed`: jobs that were created
 * more than `REPLAY_MS_MAX` ago, and replays of events whose destination was deleted.
 */
export async function expireJobs(parts: ExpireParts): Promise<void> {
  try {
    for (const job of parts.ledger.jobs.running()) {
      const error = expiryReason(parts, job);
      if (error !== undefined) await endJob(parts, job, { state: "failed", error });
    }
  } catch (error) {
    parts.logger.error({ err: error }, "cannot expire replays");
  }
}

function expiryReason({ live, clock }: ExpireParts, job: ReplayJob): string | undefined {
  if (job.kind === "events" && live.destination(job.destinationId) === undefined) {
    return "The destination was deleted";
  }
  // The letters are sent whatever the job's state is: only their outcomes are missing.
  if (isMoved(job)) return undefined;
  const hours = REPLAY_MS_MAX / 3_600_000;
  const isOld = clock.age(job.createdAt) > REPLAY_MS_MAX;
  return isOld ? `The replay took longer than ${hours} hours` : undefined;
}
