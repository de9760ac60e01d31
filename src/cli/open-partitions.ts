import type { PartitionedLogSettings } from "../cluster/events/partitioned-log.ts";
import type { OpenPartitions } from "../ingest/process/main.ts";

/** Opens partitions for an ingest process; the cluster code is loaded only in a cluster. */
export const openPartitions: OpenPartitions = async (settings, parts) => {
  const { openPartitionedLog } = await import("../cluster/events/partitioned-log.ts");
  const log = await openPartitionedLog(settings as PartitionedLogSettings, parts);
  return { ...log, isPartitionedByUser: true };
};
