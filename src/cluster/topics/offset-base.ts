import { assert } from "../../assert.ts";

/** Number that is added to the brokers' offsets of a partition. Ledgers store this object. */
export interface OffsetBase {
  /** Id of the topic that the number is valid for. */
  topic: string;
  /** Number of blocks to add to each offset. */
  base: number;
}

/**
 * Offset bases of a topic's partitions. A recreated topic begins at offset 0, and a topic that lost
 * its end reuses offsets. Stored cursors name higher offsets, so new events would count as
 * delivered. The base moves the partition's offsets above all offsets that were used before.
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

  /** Whether the partition has no base, or one for this topic id. */
  isOfTopic(partition: number, topic: string): boolean {
    return (this.#bases.get(partition)?.topic ?? topic) === topic;
  }
}

/** The base of a recreated topic is the next multiple of this number of blocks. */
const JUMP = 2 ** 30;

/** End of a partition as the brokers report it. */
export interface TopicEnd {
  /** Id of the topic. */
  topic: string;
  /** The brokers' offset after the last block, without the base. */
  end: number;
  /** Offset, with the base added, below which all blocks are known to have existed. */
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
  // The remaining blocks move up so that they end where the lost blocks ended. A lane that was
  // behind reads some of them again; no lane skips a block.
  if (before?.topic === topic) {
    const loss = { how: "has lost its end", blocks: lost };
    return { base: { topic, base: base + lost }, loss };
  }
  const jumped = (Math.floor(Math.max(known, base) / JUMP) + 1) * JUMP;
  return { base: { topic, base: jumped }, loss: { how: "was recreated", blocks: 1 } };
}
