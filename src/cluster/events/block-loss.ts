import { BLOCK_RECORDS_MAX } from "../../log/block.ts";

/**
 * Returns a function that describes blocks that are missing from the partitions of a topic. A block
 * holds many events, and their number is unknown once the block is gone.
 */
export const describeBlockLoss = (topic: string) => (log: string, blocks: number) => ({
  log: `Partition ${log.slice(1)} of ${topic}`,
  missing: `${blocks} ${blocks === 1 ? "block is" : "blocks are"} missing, of 1 to ${BLOCK_RECORDS_MAX} events each`,
});
