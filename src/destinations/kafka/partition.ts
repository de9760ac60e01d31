import {
  PartitionQueue,
  type ProducerBatch,
  type ProducerId,
} from "../../kafka/partition-queue.ts";
import type { PartitionResponse } from "../../kafka/produce.ts";
import { classify, isTooLarge, sentenceOf } from "./failures.ts";
import type { KafkaEventRecord } from "./record.ts";

/**
 * Outcomes of a batch's records, as the broker's response states them. A record that is neither in
 * `written` nor in `refused` is sent again.
 */
interface BatchOutcome {
  written: readonly KafkaEventRecord[];
  refused: { record: KafkaEventRecord; reason: string }[];
  /**
   * Sentence that explains the error in the response, if the batch's records must be sent again
   * because of it. Absent if the broker wrote the batch, or refused it because of its records.
   */
  retryReason?: string;
}

/**
 * Maximum number of bytes of the records in a batch. It is below the default limit of Kafka topics,
 * 1,048,588 bytes including the batch's header.
 */
const BATCH_BYTES_MAX = 1_000_000;

/**
 * Queue of the records for one Kafka partition, which are sent in batches. If the broker refuses a
 * batch and names no record as the cause, the next batches are smaller.
 */
export class Partition {
  readonly queue = new PartitionQueue<KafkaEventRecord>();
  /**
   * Maximum bytes of the next batch. If the broker refuses a batch as too large and names no record
   * as the cause, the maximum becomes half the bytes of that batch's records.
   */
  #bytesMax = BATCH_BYTES_MAX;
  /**
   * Maximum number of records in the next batch, at first infinite. If the broker refuses a batch
   * for another reason than its size and names no record at fault, the maximum becomes half the
   * records of that batch. It doubles after each written batch.
   */
  #countMax = Number.POSITIVE_INFINITY;

  constructor(
    readonly topic: string,
    readonly index: number,
  ) {}

  /**
   * Returns the batch that was sent and has no outcome yet. If there is none, makes a batch of the
   * first queued records.
   */
  fill(producerId: ProducerId): ProducerBatch<KafkaEventRecord> {
    return this.queue.fill(producerId, (waiting) => {
      let bytes = 0;
      const end = waiting.findIndex((record, count) => {
        bytes += record.bytes;
        return count > 0 && (bytes > this.#bytesMax || count >= this.#countMax);
      });
      return end < 0 ? waiting.length : end;
    });
  }

  /**
   * Applies the broker's response to the batch that was sent last. Returns the outcomes of its
   * records. Records without an outcome stay queued.
   */
  settle(answer: Omit<PartitionResponse, "topic" | "index" | "baseOffset">): BatchOutcome {
    const { errorCode, errorMessage, recordErrors = [] } = answer;
    switch (classify(errorCode)) {
      case "written":
        // The limit grows again, since the next refused record may be far away.
        this.#countMax *= 2;
        return { written: this.queue.acknowledge(), refused: [] };
      case "records": {
        const about = (detail?: string | null) => sentenceOf(errorCode, this.topic, detail);
        const named = new Map(
          recordErrors.map((it) => [it.batchIndex, about(it.batchIndexErrorMessage)]),
        );
        if (this.#records.length === 1) named.set(0, named.get(0) ?? about(errorMessage));
        return this.#refuse(named, isTooLarge(errorCode));
      }
      case "identity":
        this.queue.requeueWithNewProducerId();
        break;
      default:
    }
    const retryReason = sentenceOf(errorCode, this.topic, errorMessage);
    return { written: [], refused: [], retryReason };
  }

  get #records(): readonly KafkaEventRecord[] {
    return this.queue.batch?.records ?? [];
  }

  /**
   * Handles a batch that the broker refused because of its records. Refuses the records in `named`,
   * and queues the others again.
   *
   * - `named`: maps the index of each record at fault to the reason. If empty, later batches are
   *   limited to half of this one.
   * - `isTooLarge`: whether this half is counted in bytes; if false, in records
   */
  #refuse(named: Map<number, string>, isTooLarge: boolean): BatchOutcome {
    const records = this.#records;
    const refused = [...named]
      .filter(([index]) => records[index] !== undefined)
      .map(([index, reason]) => ({ record: records[index]!, reason }));
    if (refused.length === 0 && isTooLarge) {
      // Later batches must not be larger either.
      this.#bytesMax = records.reduce((sum, record) => sum + record.bytes, 0) / 2;
    } else if (refused.length === 0) this.#countMax = Math.ceil(records.length / 2);
    this.queue.requeue(records.filter((_, index) => !named.has(index)));
    return { written: [], refused };
  }
}

const SEED = 0x9747b28c;
const FACTOR = 0x5bd1e995;

/**
 * Returns the partition of a key by the algorithm of Kafka's Java client, so that pixelmill and
 * Java producers write records with the same key to the same partition. The client library's own
 * hash takes quadratic time.
 */
export function partitionOf(key: Buffer, count: number): number {
  return (murmur2(key) & 0x7fffffff) % count;
}

/** Returns the 32-bit MurmurHash2 of a key. */
function murmur2(key: Buffer): number {
  const end = key.length & ~3;
  let hash = SEED ^ key.length;
  for (let at = 0; at < end; at += 4) {
    let word = Math.imul(key.readInt32LE(at), FACTOR);
    word = Math.imul(word ^ (word >>> 24), FACTOR);
    hash = Math.imul(hash, FACTOR) ^ word;
  }
  const rest = key.length - end;
  if (rest > 0) {
    for (let at = rest - 1; at >= 0; at--) hash ^= key[end + at]! << (8 * at);
    hash = Math.imul(hash, FACTOR);
  }
  hash = Math.imul(hash ^ (hash >>> 13), FACTOR);
  return hash ^ (hash >>> 15);
}
