import type { Consumer } from "@platformatic/kafka";

/** Result of one fetch from one partition. */
export interface FetchResult {
  /** Values from the requested offset on, in ascending order of offset. */
  values: { offset: bigint; value: Buffer }[];
  /** Offset of the oldest value in the partition. */
  first: bigint;
  /** Offset after the last value that all in-sync replicas have. */
  end: bigint;
  /** Whether the requested offset is below `first` or above `end`, so that no value is there. */
  isOutOfRange: boolean;
}

/** Error of a request to a broker that led the partition when the request was sent. */
export class LeaderFailed extends Error {
  /** Address of the broker, or its id if no broker lists it. */
  readonly broker: string;

  constructor(broker: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.broker = broker;
  }
}

type FetchAnswer = Awaited<ReturnType<Consumer["fetch"]>>;
/** Answer of a broker for one partition. */
export type Answer = FetchAnswer["responses"][number]["partitions"][number];

/** Returns whether a broker refused the fetch session. The Kafka library then starts a new one. */
export const isOutOfStep = (error: unknown) => ((error as Failure).response?.errorCode ?? 0) !== 0;

interface Failure {
  response?: FetchAnswer;
}

/** Returns the broker's response if only some of its partitions failed. Throws all other errors. */
export function answerOf(error: unknown): FetchAnswer {
  const { response } = error as Failure;
  if (response === undefined || response.errorCode !== 0) throw error;
  return response;
}

/** Returns the values of an answer from offset `from` on. */
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
export function countedFrom(
  base: bigint,
  { values, first, end, isOutOfRange }: FetchResult,
): FetchResult {
  return {
    values: values.map(({ offset, value }) => ({ offset: offset + base, value })),
    first: first + base,
    end: end + base,
    isOutOfRange,
  };
}
