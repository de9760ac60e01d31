import { pendingLetters, type ReplayJob } from "../../../pipeline/model/replay-job.ts";
import type { StatusDeps } from "../status/local-status.ts";
import type { destinationStates } from "../status/status-schema.ts";
import { measure } from "../status/workspace-state.ts";

/**
 * States in which a destination accepts no events. The value is a sentence that explains the state,
 * for a destination that reports no reason. It is empty for states with which a destination always
 * reports a reason.
 */
const STOPPED: Partial<Record<(typeof destinationStates)[number], string>> = {
  down: "",
  failing: "",
  blocked: "",
  suspended: "Its user code is suspended",
  paused: "The destination is disabled",
};

/**
 * Returns the reasons why events of replay jobs wait, by job id: the job's destination accepts no
 * events now. Leaves out jobs whose events do not wait.
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

/** Whether a job has events that are not delivered yet. */
function isUnderWay(job: ReplayJob): boolean {
  return job.kind === "events" ? job.state === "running" : pendingLetters(job) > 0;
}
