import type { PartitionedLogSettings } from "../cluster/events/partitioned-log.ts";
import type { OpenPartitions } from "../ingest/process/main.ts";

/**
 * Opens the partitions of a cluster's event log in an ingest process, which accepts pixels and
 * appends them to the partitions. Only a call of this function loads the cluster's code. A
 * standalone server thus never loads it.
 */
export const openPartitions: OpenPartitions = async (settings, parts) => {
  const { openPartitionedLog } = await import("../cluster/events/partitioned-log.ts");
  const log = await openPartitionedLog(settings as PartitionedLogSettings, parts);
  return { ...log, isPartitionedByUser: true };
};
