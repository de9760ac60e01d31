import { withTimeLimit } from "../../concurrency/time-limit.ts";
import type { KafkaClients } from "../../kafka/client.ts";
import { IdempotentProducer } from "../../kafka/idempotent-producer.ts";
import { sealed } from "./partition-writer.ts";

/**
 * Returns the end of a partition: the offset after all blocks acknowledged before the call, without
 * the offset base. Rejects when the leader does not acknowledge a test block within
 * `ACKNOWLEDGED_MS_MAX`.
 */
export type ProveEnd = (partition: number) => Promise<number>;

/** Milliseconds to wait until the partition's leader acknowledges the test block. */
const ACKNOWLEDGED_MS_MAX = 10_000;

/**
 * Creates a function that finds the end of a partition by appending an empty block, which readers
 * skip. A request for the end does not suffice, because a former leader may answer with an old end.
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
