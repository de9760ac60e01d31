import { pendingLetters, type ReplayJob } from "../../../pipeline/model/replay-job.ts";
import type { StatusDeps } from "../status/local-status.ts";
import type { destinationStates } from "../status/status-schema.ts";
import { measure } from "../status/workspace-state.ts";

/** States of a destination that accepts nothing, with a sentence where the state has no reason. */
const STOPPED: Partial<Record<(typeof destinationStates)[number], string>> = {
  down: "",
  failing: "",
  blocked: "",
  suspended: "Its user code is suspended",
  paused: "The destination is disabled",
};

/**
 * Returns why destinations of these jobs accept nothing now, by the id of the destination. Only
 * asks about destinations with events on their way.
 */
export async function replayWaits(
  deps: StatusDeps,
  workspaceId: string,
  jobs: readonly ReplayJob[],
): Promise<ReadonlyMap<string | undefined, string>> {
  const ids = jobs.flatMap((job) => (isUnderWay(job) ? (job.destinationId ?? []) : []));
  const destinations = deps.catalog.destinations.withIds(workspaceId, [...new Set(ids)]);
  if (destinations.length === 0) return new Map();
  const measured = await measure(deps, workspaceId, destinations);
  return new Map(
    measured.destinations.flatMap(({ id, state, reason }) => {
      const sentence = STOPPED[state];
      return sentence === undefined ? [] : [[id, reason ?? sentence]];
    }),
  );
}

/** Whether events of a job are on their way to a destination. */
function isUnderWay(job: ReplayJob): boolean {
  return job.kind === "events" ? job.state === "running" : pendingLetters(job) > 0;
}
