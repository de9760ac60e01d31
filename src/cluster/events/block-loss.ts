import { BLOCK_RECORDS_MAX } from "../../log/block.ts";

/**
 * Returns a function that describes missing blocks of a partition of `topic`, for a report of lost
 * events. A block is one Kafka record with many events, and only the number of blocks is known.
 */
export const describeBlockLoss = (topic: string) => (log: string, blocks: number) => ({
  log: `Partition ${log.slice(1)} of ${topic}`,
  missing: `${blocks} ${blocks === 1 ? "block is" : "blocks are"} missing, of 1 to ${BLOCK_RECORDS_MAX} events each`,
});
