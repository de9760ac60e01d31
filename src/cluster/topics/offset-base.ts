/** Of which topic a partition is, and how the offsets of its blocks are counted. */
export interface OffsetBase {
  /** Id of the topic. */
  topic: string;
  /** What is added to the brokers' offsets. */
  base: number;
}

/**
 * A topic that was deleted and made anew begins at offset 0, and one that lost its end goes on at
 * offsets that were given before. Cursors and connections name positions beyond: what comes at lower
 * ones would count as taken. So the offsets of such a partition are counted from higher on, where
 * nothing has been.
 */
export class OffsetBases {
  readonly #places = new Map<number, OffsetBase>();

  set(partition: number, place: OffsetBase): void {
    this.#places.set(partition, place);
  }

  base(partition: number): bigint {
    return BigInt(this.#places.get(partition)?.base ?? 0);
  }

  /** Whether the offsets of a topic are known to be counted so. */
  isOfTopic(partition: number, topic: string): boolean {
    return (this.#places.get(partition)?.topic ?? topic) === topic;
  }
}

/** Blocks between what was there before and a topic that was made anew; nobody has read so far. */
const JUMP = 2 ** 30;

export interface TopicEnd {
  topic: string;
  /** The brokers' offset after the last block. */
  end: number;
  /** Offset, as it is counted, below which blocks are known to have been read. */
  known: number;
}

/** What happened to a partition. */
export interface PartitionLoss {
  /** As in "The partition …". */
  how: string;
  /** Blocks that are known to be gone, and at least 1. */
  blocks: number;
}

/** Where a partition belongs, by where it was and what is found of it. */
export function nextOffsetBase(
  before: OffsetBase | undefined,
  { topic, end, known }: TopicEnd,
): { place: OffsetBase; lost?: PartitionLoss } {
  const base = before?.base ?? 0;
  const gone = known - (end + base);
  const isSame = before === undefined || before.topic === topic;
  if (isSame && gone <= 0) return { place: { topic, base } };
  // What is left is counted so that it ends where the lost end was. A lane that had not come so far
  // reads some of it again; none passes over anything.
  if (before?.topic === topic) {
    return { place: { topic, base: base + gone }, lost: { how: "has lost its end", blocks: gone } };
  }
  const jumped = (Math.floor(Math.max(known, base) / JUMP) + 1) * JUMP;
  return { place: { topic, base: jumped }, lost: { how: "was made anew", blocks: 1 } };
}
