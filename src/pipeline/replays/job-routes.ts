import type { Connection, Destination } from "../../catalog/model.ts";
import type { EventJob } from "../model/replay-job.ts";

/**
 * Returns routes that send all events of the job's sources to its destination, as if the sources
 * had been connected at all times.
 */
export function replayRoutes(job: EventJob, destination: Destination) {
  const connection = (sourceId: string): Connection => ({
    id: job.id,
    workspaceId: job.workspaceId,
    sourceId,
    destinationId: job.destinationId,
    enabled: true,
    from: {},
    createdAt: 0,
    updatedAt: 0,
  });
  return { destination, bySource: new Map(job.sources.map((id) => [id, connection(id)])) };
}

/**
 * Returns the job's read positions as a `LaneRecord`, the form in which lanes (deliveries to
 * destinations) store their read positions.
 */
export function replayRecord({ id, logs }: EventJob) {
  return { logs, known: { [id]: {} } };
}
