import type { Consumer } from "@platformatic/kafka";

/** Result of one fetch from one partition. */
export interface FetchResult {
  /** Values from the requested offset on, in ascending order of offset. */
  values: { offset: bigint; value: Buffer }[];
  /** Offset of the oldest value in the partition. */
  first: bigint;
  /** Offset after the last value that all in-sync replicas have (Kafka's high watermark). */
  end: bigint;
  /** Whether the requested offset is below `first` or above `end`. `values` is then empty. */
  isOutOfRange: boolean;
}

/** Error for a request that the leader of a partition refused or did not answer. */
export class LeaderFailed extends Error {
  /** Address of the partition's leader, or the leader's broker id if its address is not known. */
  readonly broker: string;

  constructor(broker: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.broker = broker;
  }
}

type FetchAnswer = Awaited<ReturnType<Consumer["fetch"]>>;
/** The part of a broker's fetch response that concerns one partition. */
export type Answer = FetchAnswer["responses"][number]["partitions"][number];

/**
 * Whether `error` says that the broker refused a fetch session as a whole, not only some of its
 * partitions. The Kafka library then begins a new session, so the caller can repeat the fetch at
 * once.
 */
export const isOutOfStep = (error: unknown) => Boolean((error as Failure).response?.errorCode);

interface Failure {
  response?: FetchAnswer;
}

/**
 * Returns the broker's response that `error` contains, if the fetch failed for only some of the
 * partitions. Throws `error` if the fetch failed for all of them.
 */
export function answerOf(error: unknown): FetchAnswer {
  const { response } = error as Failure;
  if (response === undefined || response.errorCode !== 0) throw error;
  return response;
}

/** Converts a broker's answer to a `FetchResult` with the values from offset `from` on. */
export function fetchedOf(answer: Answer, from: bigint): FetchResult {
  const values = (answer.records ?? []).flatMap(({ firstOffset, records }) =>
    records.map(({ offsetDelta, value }) => ({
      offset: firstOffset + BigInt(offsetDelta),
      value: value ?? Buffer.alloc(0),
    })),
  );
  return {
    // A broker returns whole batches; the first may begin below the requested offset.
    values: values.filter(({ offset }) => offset >= from),
    first: answer.logStartOffset,
    end: answer.highWatermark,
    isOutOfRange: false,
  };
}

/** Adds `base` (a partition's offset base, see `OffsetBases`) to all offsets of a result. */
export function countedFrom(base: bigint, fetched: FetchResult): FetchResult {
  return {
    ...fetched,
    values: fetched.values.map(({ offset, value }) => ({ offset: offset + base, value })),
    first: fetched.first + base,
    end: fetched.end + base,
  };
}
