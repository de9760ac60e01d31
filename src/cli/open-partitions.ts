import type { PartitionedLogSettings } from "../cluster/events/partitioned-log.ts";
import type { OpenPartitions } from "../ingest/process/main.ts";

/**
 * Opens the partitions of a cluster's event log in an ingest process. This process accepts pixels
 * and appends them to the partitions. The function loads the cluster's code only when it is called,
 * so that a standalone server never loads the code.
 */
export const openPartitions: OpenPartitions = async (settings, parts) => {
  const { openPartitionedLog } = await import("../cluster/events/partitioned-log.ts");
  const log = await openPartitionedLog(settings as PartitionedLogSettings, parts);
  return { ...log, isPartitionedByUser: true };
};
