import { assert } from "../../assert.ts";

/**
 * Number to add to the brokers' offsets of one partition. The store of the partition's delivery
 * progress contains this object.
 */
export interface OffsetBase {
  /** Id of the topic for which `base` was computed. */
  topic: string;
  /** Number to add to each of the brokers' block offsets. */
  base: number;
}

/**
 * Offset bases of a topic's partitions. An offset base is a number to add to the brokers' offsets.
 * Offset bases keep offsets ascending when a recreated topic begins at 0 again, or when a topic
 * that lost its newest blocks reuses their offsets. Otherwise new events would have offsets below
 * the stored delivery positions and count as delivered.
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

  /**
   * Whether the partition's offset base (the number to add to offsets) was computed for this topic
   * id. Also true for a partition without a base.
   */
  isOfTopic(partition: number, topic: string): boolean {
    return (this.#bases.get(partition)?.topic ?? topic) === topic;
  }
}

/** Number of offsets whose next multiple becomes the offset base of a recreated topic. */
const JUMP = 2 ** 30;

/** End of a partition as its brokers report it. */
export interface TopicEnd {
  /** Id of the topic that the partition belongs to. */
  topic: string;
  /** Offset after the last block, as the brokers count it, without the offset base. */
  end: number;
  /** Offset, with the offset base added, below which all blocks have certainly existed. */
  known: number;
}

/** Loss of blocks of one partition, for a warning. */
export interface PartitionLoss {
  /** Description of the loss, which completes the sentence "The partition …". */
  how: string;
  /** Number of blocks that are known to be lost, at least 1. */
  blocks: number;
}

/**
 * Computes a partition's new offset base (the number to add to the brokers' offsets) from the
 * stored one and the partition's end at the brokers. Also returns the loss if the topic was
 * recreated or lost its newest blocks.
 */
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
