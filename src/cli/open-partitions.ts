import type { PartitionedLogSettings } from "../cluster/events/partitioned-log.ts";
import type { OpenPartitions } from "../ingest/process/main.ts";

/**
 * Opens the partitions of a cluster's event log in an ingest process, which appends events to them.
 * Imports the cluster's code only when called, so that a standalone server never loads it.
 */
export const openPartitions: OpenPartitions = async (settings, parts) => {
  const { openPartitionedLog } = await import("../cluster/events/partitioned-log.ts");
  const log = await openPartitionedLog(settings as PartitionedLogSettings, parts);
  return { ...log, isPartitionedByUser: true };
};
