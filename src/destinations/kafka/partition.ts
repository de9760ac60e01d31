import {
  PartitionQueue,
  type ProducerBatch,
  type ProducerId,
} from "../../kafka/partition-queue.ts";
import type { PartitionResponse } from "../../kafka/produce.ts";
import { classify, isTooLarge, sentenceOf } from "./failures.ts";
import type { EventRecord } from "./record.ts";

/** Outcome of a batch by the broker's response. */
export interface BatchOutcome {
  written: readonly EventRecord[];
  refused: { record: EventRecord; reason: string }[];
  /** Why the batch is sent again. */
  retryReason?: string;
}

/** By default a topic accepts batches of 1,048,588 bytes; the rest is for the batch's header. */
const BATCH_BYTES_MAX = 1_000_000;

/** Records of one partition, in batches of the size that the topic accepts. */
export class Partition {
  readonly topic: string;
  readonly index: number;
  readonly queue = new PartitionQueue<EventRecord>();
  /** Largest batch in bytes: half of a batch that was too large. */
  #bytesMax = BATCH_BYTES_MAX;
  /** Most records of the next batch, while batches are halved to find a refused record. */
  #countMax = Number.POSITIVE_INFINITY;

  constructor(topic: string, index: number) {
    this.topic = topic;
    this.index = index;
  }

  /** The batch in flight, or a new one. */
  fill(producerId: ProducerId): ProducerBatch<EventRecord> {
    return this.queue.fill(producerId, (waiting) => {
      let bytes = 0;
      const end = waiting.findIndex((record, count) => {
        bytes += record.bytes;
        return count > 0 && (bytes > this.#bytesMax || count >= this.#countMax);
      });
      return end < 0 ? waiting.length : end;
    });
  }

  /** Settles the batch in flight by the broker's response. */
  settle({
    errorCode,
    errorMessage,
    recordErrors = [],
  }: Omit<PartitionResponse, "topic" | "index" | "baseOffset">): BatchOutcome {
    switch (classify(errorCode)) {
      case "written":
        // The next refused record may be far away.
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

  get #records(): readonly EventRecord[] {
    return this.queue.batch?.records ?? [];
  }

  /**
   * Nothing of the batch was written: refuses the named records and sends the others again. When
   * none is named, smaller batches find the record.
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
    const isRefused = new Set(refused.map(({ record }) => record));
    this.queue.requeue(records.filter((record) => !isRefused.has(record)));
    return { written: [], refused };
  }
}
