import type { Consumer } from "@platformatic/kafka";
import { OffsetBases } from "./offset-base.ts";
import { type TopicIdentity, TopicRecreated } from "./topic-identity.ts";

/** Result of a fetch from a partition. */
export interface FetchResult {
  /** Values by offset, ascending; none below the offset that was asked for. */
  values: { offset: bigint; value: Buffer }[];
  /** Offset of the oldest value that is kept. */
  first: bigint;
  /** Offset after the last value that all replicas in sync have. */
  end: bigint;
  /** The offset that was asked for is below the first, or beyond the end. */
  isOutOfRange: boolean;
}

interface Waiting {
  partition: number;
  offset: bigint;
  resolve(fetched: FetchResult): void;
  reject(error: unknown): void;
}

export interface FetcherOptions {
  /** Its own: requests wait for each other on its connections. */
  consumer: Consumer;
  topic: string;
  /** How long a broker waits for something to come when there is nothing to give back. */
  waitMs: number;
  /** Identity of a topic that must not be recreated; a recreated one is not read. */
  identity?: TopicIdentity;
  /** How the offsets of the partitions are counted; by default as the brokers do. */
  offsetBases?: OffsetBases;
}

/** How long it is tried to learn offsets, and the time between two attempts. */
const OFFSETS_MS_MAX = 5_000;
const OFFSETS_RETRY_MS = 50;

/**
 * How often it is asked who leads, beside the fetches. The library has a fetch wait for that when
 * what it knows is `METADATA_MS_MAX` old.
 */
const LEADERS_MS = 2_500;

/** Most bytes of a partition in one response. */
const READ_WINDOW_BYTES = 256 << 10;

/** The broker's word for an offset that was deleted, or does not exist yet. */
const OFFSET_OUT_OF_RANGE = 1;

/**
 * Reads partitions of a topic. All that is wanted of one broker goes in one request, one request
 * at a time: the broker remembers what was asked last.
 */
export class Fetcher {
  readonly #options: FetcherOptions;
  readonly #placement: OffsetBases;
  #waiting: Waiting[] = [];
  readonly #busy = new Set<number>();
  /** Last known bounds of each partition. */
  readonly #heard = new Map<number, Pick<FetchResult, "first" | "end">>();
  #leadersAt = performance.now();

  constructor(options: FetcherOptions) {
    this.#options = options;
    this.#placement = options.offsetBases ?? new OffsetBases();
    options.consumer.topics.track(options.topic);
  }

  /** Reads about `READ_WINDOW_BYTES` of values from an offset on; rejects when the broker cannot. */
  fetch(partition: number, from: bigint): Promise<FetchResult> {
    const { promise, resolve, reject } = Promise.withResolvers<FetchResult>();
    const base = this.#placement.base(partition);
    const offset = from > base ? from - base : 0n;
    if (this.#waiting.push({ partition, offset, resolve, reject }) === 1) this.#fetchSoon();
    return base === 0n ? promise : promise.then((fetched) => countedFrom(base, fetched));
  }

  /**
   * First or last offsets of all partitions, as their leaders know them at this moment. Rejects with
   * `AnotherTopic` where it is not known how those of the topic are counted.
   */
  async offsets(which: "first" | "end"): Promise<bigint[]> {
    const { topicId, offsets } = await this.brokerOffsets(which);
    return offsets.map((offset, partition) => {
      this.#expectPlaced(partition, topicId);
      return offset + this.#placement.base(partition);
    });
  }

  /**
   * First or last offsets as the brokers count them. A leader that has just been chosen refuses until it
   * knows what was acknowledged: it is asked again.
   */
  async brokerOffsets(which: "first" | "end"): Promise<{ topicId: string; offsets: bigint[] }> {
    const { consumer, topic } = this.#options;
    const timestamp = which === "first" ? EARLIEST : LATEST;
    const until = performance.now() + OFFSETS_MS_MAX;
    for (;;) {
      try {
        const offsets = (await consumer.listOffsets({ topics: [topic], timestamp })).get(topic);
        const { topicId } = await this.#leaders();
        return { topicId, offsets: offsets ?? [] };
      } catch (error) {
        if (performance.now() > until || error instanceof TopicRecreated) throw error;
        consumer.clearMetadata();
        await Bun.sleep(OFFSETS_RETRY_MS);
      }
    }
  }

  /** End offsets of one topic id, even while the topic is recreated. */
  async endOffsetsOfOneTopic(): Promise<{ topicId: string; offsets: bigint[] }> {
    for (;;) {
      await this.#refresh();
      const { topicId, offsets } = await this.brokerOffsets("end");
      await this.#refresh();
      if ((await this.#leaders()).topicId === topicId) return { topicId, offsets };
    }
  }

  /** Callers resuming from the last response join this request; others wait. */
  #fetchSoon(): void {
    setImmediate(() => void this.#fetchWaiting());
  }

  async #fetchWaiting(): Promise<void> {
    if (this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    try {
      const { topicId, leaders } = await this.#leaders();
      for (const { partition } of waiting) this.#expectPlaced(partition, topicId);
      for (const [leader, wanted] of Map.groupBy(waiting, (it) => leaders[it.partition])) {
        if (leader === undefined || leader < 0)
          refuse(wanted, new Error("A partition has no leader"));
        else if (this.#busy.has(leader)) this.#waiting.push(...wanted);
        else void this.#fetchFrom(leader, topicId, wanted);
      }
    } catch (error) {
      refuse(waiting, error);
    }
  }

  async #fetchFrom(leader: number, topicId: string, wanted: Waiting[]): Promise<void> {
    this.#busy.add(leader);
    // A request names a partition once.
    const asked = new Map<number, Waiting>();
    for (const it of wanted) {
      if (asked.has(it.partition)) this.#waiting.push(it);
      else asked.set(it.partition, it);
    }
    try {
      const found = await this.#ask(leader, topicId, [...asked.values()]);
      for (const it of asked.values()) await this.#settle(it, found.get(it.partition));
    } catch (error) {
      refuse(asked.values(), error);
      await this.#refresh().catch(() => {});
    }
    this.#busy.delete(leader);
    if (this.#waiting.length > 0) this.#fetchSoon();
  }

  async #ask(leader: number, topicId: string, wanted: Waiting[]): Promise<Map<number, Answer>> {
    const { consumer, waitMs } = this.#options;
    const partitions = wanted.map(({ partition, offset }) => ({
      ...{ partition, fetchOffset: offset, partitionMaxBytes: READ_WINDOW_BYTES },
      ...{ currentLeaderEpoch: -1, lastFetchedEpoch: -1 },
    }));
    const maxBytes = READ_WINDOW_BYTES * partitions.length;
    const topics = [{ topicId, partitions }];
    const request = { node: leader, topics, maxWaitTime: waitMs, minBytes: 1, maxBytes };
    const ask = () => consumer.fetch(request);
    const answer = await ask()
      .catch((error) => (isOutOfStep(error) ? ask() : Promise.reject(error)))
      .catch(answerOf);
    const answers = answer.responses.flatMap((it) => it.partitions);
    return new Map(answers.map((it) => [it.partitionIndex, it]));
  }

  async #settle(wanted: Waiting, answer: Answer | undefined): Promise<void> {
    const { partition, offset, resolve, reject } = wanted;
    try {
      if (answer?.errorCode === 0) {
        const fetched = fetchedOf(answer, offset);
        this.#heard.set(partition, { first: fetched.first, end: fetched.end });
        return resolve(fetched);
      }
      const heard = this.#heard.get(partition);
      // A broker leaves out what is as it was: there is nothing to read, and its bounds are the same.
      if (answer === undefined && heard !== undefined) {
        return resolve({ values: [], ...heard, isOutOfRange: false });
      }
      if (answer !== undefined && answer.errorCode !== OFFSET_OUT_OF_RANGE) {
        await this.#refresh();
        throw new Error(`The broker answered with error ${answer.errorCode}`);
      }
      this.#heard.delete(partition);
      const [firsts, ends] = await Promise.all([
        this.brokerOffsets("first"),
        this.brokerOffsets("end"),
      ]);
      const [first, end] = [firsts.offsets[partition] ?? 0n, ends.offsets[partition] ?? 0n];
      resolve({ values: [], first, end, isOutOfRange: offset < first || offset > end });
    } catch (error) {
      reject(error);
    }
  }

  #expectPlaced(partition: number, topicId: string): void {
    if (!this.#placement.isOfTopic(partition, topicId))
      throw new TopicRecreated(this.#options.topic);
  }

  async #leaders(): Promise<{ topicId: string; leaders: number[] }> {
    const { consumer, topic } = this.#options;
    if (performance.now() - this.#leadersAt > LEADERS_MS) {
      this.#leadersAt = performance.now();
      void consumer.metadata({ topics: [topic], forceUpdate: true }).catch(() => {});
    }
    const found = (await consumer.metadata({ topics: [topic] })).topics.get(topic);
    if (found === undefined) throw new Error(`The topic ${topic} is not there`);
    this.#options.identity?.check(found.id);
    return { topicId: found.id, leaders: found.partitions.map(({ leader }) => leader) };
  }

  async #refresh(): Promise<void> {
    const { consumer, topic } = this.#options;
    consumer.clearMetadata();
    await consumer.metadata({ topics: [topic], forceUpdate: true });
  }
}

const LATEST = -1n;
const EARLIEST = -2n;

type FetchAnswer = Awaited<ReturnType<Consumer["fetch"]>>;
type Answer = FetchAnswer["responses"][number]["partitions"][number];

/** After an error the library and the broker may disagree on what was asked last; a new fetch session starts. */
const isOutOfStep = (error: unknown) => ((error as Failure).response?.errorCode ?? 0) !== 0;

interface Failure {
  response?: FetchAnswer;
}

/** An error of one partition comes with the answers of the others; what else went wrong is thrown. */
function answerOf(error: unknown): FetchAnswer {
  const { response } = error as Failure;
  if (response === undefined || response.errorCode !== 0) throw error;
  return response;
}

function fetchedOf(answer: Answer, from: bigint): FetchResult {
  const values = (answer.records ?? []).flatMap(({ firstOffset, records }) =>
    records.map(({ offsetDelta, value }) => ({
      offset: firstOffset + BigInt(offsetDelta),
      value: value ?? Buffer.alloc(0),
    })),
  );
  return {
    // A broker gives back whole batches, of which the first may begin before.
    values: values.filter(({ offset }) => offset >= from),
    first: answer.logStartOffset,
    end: answer.highWatermark,
    isOutOfRange: false,
  };
}

function countedFrom(base: bigint, { values, first, end, isOutOfRange }: FetchResult): FetchResult {
  return {
    values: values.map(({ offset, value }) => ({ offset: offset + base, value })),
    ...{ first: first + base, end: end + base, isOutOfRange },
  };
}

function refuse(waiting: Iterable<Waiting>, error: unknown): void {
  for (const { reject } of waiting) reject(error);
}
