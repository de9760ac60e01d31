import { withTimeLimit } from "../../concurrency/time-limit.ts";
import type { KafkaClients } from "../../kafka/client.ts";
import { IdempotentProducer } from "../../kafka/idempotent-producer.ts";
import { sealed } from "./partition-writer.ts";

/**
 * Returns the end of a partition: the offset after all blocks that were acknowledged before this
 * function was called. It is the brokers' offset, without the offset base. Rejects when the
 * partition's leader does not acknowledge a test block within `ACKNOWLEDGED_MS_MAX`.
 */
export type ProveEnd = (partition: number) => Promise<number>;

/** Milliseconds to wait until the partition's leader acknowledges the test block. */
const ACKNOWLEDGED_MS_MAX = 10_000;

/**
 * Creates a function that determines the end of a partition of the event log by appending an empty
 * block, which readers skip. A request for the end does not suffice: a former leader of the
 * partition may answer with an old end, but cannot acknowledge a block.
 */
export function endProver(clients: Pick<KafkaClients, "producer">, topic: string): ProveEnd {
  let producer: IdempotentProducer | undefined;
  return async (partition) => {
    producer ??= new IdempotentProducer({ producer: clients.producer(), topic });
    const late = () => new Error(`Expected the leader of ${topic} ${partition} to take a block`);
    const sent = producer.send(partition, () => sealed());
    return Number(await withTimeLimit(sent, ACKNOWLEDGED_MS_MAX, late));
  };
}
