import { withTimeLimit } from "../../concurrency/time-limit.ts";
import type { KafkaClients } from "../../kafka/client.ts";
import { IdempotentProducer } from "../../kafka/idempotent-producer.ts";
import { HEADER_BYTES, sealBlock } from "../../log/block.ts";

/**
 * Reads the offset after all blocks of a partition that were acknowledged before the call, without
 * its offset base. Rejects when the leader does not acknowledge a block in time.
 */
export type ProveEnd = (partition: number) => Promise<number>;

/** Longest time in milliseconds to wait until the leader acknowledges the block. */
const ACKNOWLEDGED_MS_MAX = 10_000;

/**
 * Creates a function that reads the end of a partition of the event log by appending an empty block
 * to it. Only the leader in office can acknowledge the block, while a leader that was replaced keeps
 * answering requests for its old end. Readers pass over the block.
 */
export function endProver(clients: Pick<KafkaClients, "producer">, topic: string): ProveEnd {
  let producer: IdempotentProducer | undefined;
  return async (partition) => {
    producer ??= new IdempotentProducer({ producer: clients.producer(), topic });
    const late = () => new Error(`Expected the leader of ${topic} ${partition} to take a block`);
    const sent = producer.send(partition, emptyBlock);
    return Number(await withTimeLimit(sent, ACKNOWLEDGED_MS_MAX, late));
  };
}

function emptyBlock(): Buffer {
  const block = Buffer.alloc(HEADER_BYTES);
  sealBlock(block, HEADER_BYTES, 0, 0);
  return block;
}
