import { pendingLetters, type ReplayJob } from "../../../pipeline/model/replay-job.ts";
import type { StatusDeps } from "../status/local-status.ts";
import type { destinationStates } from "../status/status-schema.ts";
import { measure } from "../status/workspace-state.ts";

/**
 * States in which a destination accepts no events. The value is the sentence that is shown when the
 * state comes without a reason; it is empty for states that have a reason.
 */
const STOPPED: Partial<Record<(typeof destinationStates)[number], string>> = {
  down: "",
  failing: "",
  blocked: "",
  suspended: "Its user code is suspended",
  paused: "The destination is disabled",
};

/**
 * Returns the reason why the events of a job wait, by the id of the job. Has only jobs with events
 * on their way to a destination that accepts no events now.
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
  const stopped = new Map(
    measured.destinations.flatMap(({ id, state, reason }) => {
      const sentence = STOPPED[state];
      return sentence === undefined ? [] : [[id, reason ?? sentence] as const];
    }),
  );
  return new Map(
    underWay.flatMap(({ id, destinationId = "" }) => {
      const reason = stopped.get(destinationId);
      return reason === undefined ? [] : [[id, reason] as const];
    }),
  );
}

/** Whether events of a job are on their way to a destination. */
function isUnderWay(job: ReplayJob): boolean {
  return job.kind === "events" ? job.state === "running" : pendingLetters(job) > 0;
}
