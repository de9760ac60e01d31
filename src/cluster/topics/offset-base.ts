import { assert } from "../../assert.ts";

/** Number to add to a partition's Kafka offsets, with its topic. Stored with delivery progress. */
export interface OffsetBase {
  /** Id of the topic for which `base` was computed. */
  topic: string;
  /** Number that is added to each offset that the brokers give to a block of the partition. */
  base: number;
}

/**
 * Offset bases of a topic's partitions: numbers added to the brokers' offsets, because these
 * offsets repeat after the topic is recreated or loses its newest blocks. New events with repeated
 * offsets would count as delivered.
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
   * Returns whether the partition's offset base (the number that is added to the brokers' offsets)
   * was computed for this topic id. Returns true for a partition without an offset base.
   */
  isOfTopic(partition: number, topic: string): boolean {
    return (this.#bases.get(partition)?.topic ?? topic) === topic;
  }
}

/**
 * Number whose multiples are the offset bases of recreated topics. Each gets the lowest multiple
 * above its stored offset base and above every offset in its stored delivery positions.
 */
const JUMP = 2 ** 30;

/**
 * End offsets of a partition: `end` from its leader, and `known` from the stored delivery progress.
 */
export interface TopicEnd {
  /** Id of the topic that the partition belongs to. */
  topic: string;
  /** Offset after the last block that the partition's leader has. Includes no offset base. */
  end: number;
  /**
   * Offset after the last block that the stored delivery positions mention, with the offset base
   * included. The partition has lost blocks if this is above `end` plus the offset base.
   */
  known: number;
}

/** Blocks that one partition has lost, for a warning. */
export interface PartitionLoss {
  /** Text that completes the sentence "The partition …", such as "was recreated". */
  how: string;
  /**
   * Number of blocks that are known to be lost, at least 1. It is 1 for a recreated topic, because
   * the real number is then unknown.
   */
  blocks: number;
}

/**
 * Returns the offset base that a partition needs (the number to add to the brokers' offsets): the
 * stored one, or a higher one if the topic was recreated or lost its newest blocks. `loss` then
 * says what was lost.
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
