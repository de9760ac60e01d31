import { assert } from "../../assert.ts";

/**
 * Number that is added to the brokers' offsets of a partition, and the topic it holds for. The field
 * names are stored in ledgers.
 */
export interface OffsetBase {
  /** Id of the topic. */
  topic: string;
  base: number;
}

/**
 * Offset bases of a topic's partitions. A topic that was recreated begins at offset 0, and one that
 * lost its end reuses offsets. Cursors and connections name higher positions, so new events would
 * count as delivered. The base moves such a partition to offsets that were never used.
 */
export class OffsetBases {
  readonly #bases = new Map<number, OffsetBase>();

  set(partition: number, offsetBase: OffsetBase): void {
    const before = this.#bases.get(partition)?.base ?? 0;
    assert(offsetBase.base >= before, "The offset base of a partition never decreases");
    this.#bases.set(partition, offsetBase);
  }

  base(partition: number): bigint {
    return BigInt(this.#bases.get(partition)?.base ?? 0);
  }

  /** Whether the base of the partition holds for this topic. */
  isOfTopic(partition: number, topic: string): boolean {
    return (this.#bases.get(partition)?.topic ?? topic) === topic;
  }
}

/** Distance in blocks between the last offset of a topic and the base of its recreation. */
const JUMP = 2 ** 30;

/** End of a partition as the brokers report it. */
export interface TopicEnd {
  topic: string;
  /** The brokers' offset after the last block. */
  end: number;
  /** Offset, with its base, below which blocks are known to have been read. */
  known: number;
}

/** Loss of blocks in a partition. */
export interface PartitionLoss {
  /** Completes the sentence "The partition …". */
  how: string;
  /** Number of blocks that are known to be lost, at least 1. */
  blocks: number;
}

/** Computes the offset base of a partition from the stored one and the partition's end. */
export function nextOffsetBase(
  before: OffsetBase | undefined,
  { topic, end, known }: TopicEnd,
): { base: OffsetBase; loss?: PartitionLoss } {
  const base = before?.base ?? 0;
  const lost = known - (end + base);
  const isSame = before === undefined || before.topic === topic;
  if (isSame && lost <= 0) return { base: { topic, base } };
  // The rest moves so that it ends where the lost end was. A lane that was behind reads some of it
  // again; none passes over anything.
  if (before?.topic === topic) {
    const loss = { how: "has lost its end", blocks: lost };
    return { base: { topic, base: base + lost }, loss };
  }
  const jumped = (Math.floor(Math.max(known, base) / JUMP) + 1) * JUMP;
  return { base: { topic, base: jumped }, loss: { how: "was recreated", blocks: 1 } };
}
