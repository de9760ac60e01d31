import type { Consumer } from "@platformatic/kafka";
import { messageOf } from "../../errors.ts";
import {
  type Answer,
  answerOf,
  countedFrom,
  type FetchResult,
  fetchedOf,
  isOutOfStep,
  LeaderFailed,
} from "./fetch-answer.ts";
import type { FetchPace } from "./fetch-pace.ts";
import {
  type Bound,
  type Leaders,
  leaderless,
  leadersOf,
  listAllOffsets,
  listOffsets,
  type NamedOffsets,
} from "./list-offsets.ts";
import { OffsetBases } from "./offset-base.ts";
import { type TopicIdentity, TopicRecreated } from "./topic-identity.ts";

/** Broker id and address of a partition's leader. */
interface Leader {
  id: number;
  name: string;
}

interface Waiting {
  partition: number;
  offset: bigint;
  resolve(fetched: FetchResult): void;
  reject(error: unknown): void;
}

export interface FetcherOptions {
  /**
   * Kafka consumer that only this fetcher uses, because a fetch delays later requests of the same
   * consumer.
   */
  consumer: Consumer;
  topic: string;
  /** Milliseconds for which a broker may delay its response to wait for a new value. */
  waitMs: number;
  /**
   * Maximum bytes of one partition's record batches in a response. Compressed batches count with
   * their compressed size. The default is `READ_WINDOW_BYTES`.
   */
  windowBytes?: number;
  /** Decides how long to pause before the next request to a broker. Absent for no pauses. */
  pace?: Pick<FetchPace, "pauseMs">;
  /** Expected id of the topic. A read rejects with `TopicRecreated` if the topic has another id. */
  identity?: TopicIdentity;
  /**
   * For each partition, a number that is added to the brokers' offsets (see `OffsetBases`). With
   * it, offsets never repeat, even if the topic is recreated or loses blocks. Absent to add
   * nothing.
   */
  offsetBases?: OffsetBases;
}

/** Maximum bytes of one partition's record batches in a response, unless `windowBytes` is set. */
const READ_WINDOW_BYTES = 256 << 10;

/** Kafka's error code for a requested offset whose value was deleted or does not exist yet. */
const OFFSET_OUT_OF_RANGE = 1;

/**
 * Reads values from the partitions of a topic. Has at most one request in flight to each broker,
 * because a Kafka fetch session allows only one. The request reads all partitions of the broker for
 * which `fetch` calls wait.
 */
export class Fetcher {
  readonly #placement: OffsetBases;
  /** Calls of `fetch` that were not yet sent to a broker. */
  #waiting: Waiting[] = [];
  #isFetchDue = false;
  readonly #busy = new Set<number>();
  /**
   * First and end offset of each partition, from the last response that contained the partition.
   * Needed because the responses of a fetch session omit unchanged partitions.
   */
  readonly #heard = new Map<number, Pick<FetchResult, "first" | "end">>();

  constructor(private readonly options: FetcherOptions) {
    this.#placement = options.offsetBases ?? new OffsetBases();
    options.consumer.topics.track(options.topic);
  }

  /**
   * Reads about `windowBytes` of values of a partition, from offset `from`. If the partition has no
   * such offset, `isOutOfRange` of the result is true. Rejects when the partition has no leader or
   * its leader does not answer.
   */
  fetch(partition: number, from: bigint): Promise<FetchResult> {
    const { promise, resolve, reject } = Promise.withResolvers<FetchResult>();
    const base = this.#placement.base(partition);
    const offset = from > base ? from - base : 0n;
    this.#waiting.push({ partition, offset, resolve, reject });
    this.#fetchSoon();
    return base === 0n ? promise : promise.then((fetched) => countedFrom(base, fetched));
  }

  /**
   * Reads the first or end offset of every partition from its leader, and adds the partition's
   * offset base (see `OffsetBases`). Rejects with `TopicRecreated` if the offset base was computed
   * for an earlier topic of the same name.
   */
  async offsets(which: Bound): Promise<bigint[]> {
    const { topicId, offsets, failures } = await this.brokerOffsets(which);
    if (failures.size > 0) throw failures.values().next().value;
    // The leaders' answers come in any order.
    return Array.from({ length: offsets.size }, (_, partition) => {
      this.#expectPlaced(partition, topicId);
      return offsets.get(partition)! + this.#placement.base(partition);
    });
  }

  /**
   * Reads the first or end offset of one partition from its leader. Adds no offset base (see
   * `OffsetBases`).
   */
  async brokerOffset(
    which: Bound,
    partition: number,
  ): Promise<{ topicId: string; offset: bigint }> {
    const { consumer, topic } = this.options;
    const offsets = await listOffsets({ consumer, topic, which }, [partition]);
    const { topicId } = await this.#leaders();
    return { topicId, offset: offsets[0]! };
  }

  /**
   * Reads the end offset of a partition from its leader, and the id of the topic. Both belong to
   * the same topic, even if it is recreated meanwhile. Adds no offset base (see `OffsetBases`).
   */
  async endOffsetOfOneTopic(partition: number): Promise<{ topicId: string; offset: bigint }> {
    for (;;) {
      await this.#refresh();
      const { topicId, offset } = await this.brokerOffset("end", partition);
      await this.#refresh();
      if ((await this.#leaders()).topicId === topicId) return { topicId, offset };
    }
  }

  /**
   * Reads the first or end offsets of all partitions from their leaders, without offset bases (see
   * `OffsetBases`). A partition whose leader fails to answer within `msMax` milliseconds is in
   * `failures`. Rejects only if the topic is not known.
   */
  async brokerOffsets(which: Bound, msMax?: number): Promise<NamedOffsets & { topicId: string }> {
    const { consumer, topic } = this.options;
    const known = await this.#leaders();
    const named = await listAllOffsets({ consumer, topic, which }, known, msMax);
    const { topicId } = await this.#leaders();
    return { topicId, ...named };
  }

  /** Sends the waiting `fetch` calls after this event-loop turn, in one request per broker. */
  #fetchSoon(): void {
    if (this.#isFetchDue) return;
    this.#isFetchDue = true;
    setImmediate(() => void this.#fetchWaiting());
  }

  async #fetchWaiting(): Promise<void> {
    this.#isFetchDue = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    try {
      const { topicId, leaders, nameOf } = await this.#leaders();
      for (const { partition } of waiting) this.#expectPlaced(partition, topicId);
      for (const [leader, wanted] of Map.groupBy(waiting, (it) => leaders[it.partition])) {
        if (leader === undefined || leader < 0) refuse(wanted, leaderless(this.options.topic));
        else if (this.#busy.has(leader)) this.#waiting.push(...wanted);
        else void this.#fetchFrom({ id: leader, name: nameOf(leader) }, topicId, wanted);
      }
    } catch (error) {
      refuse(waiting, error);
    }
  }

  async #fetchFrom(leader: Leader, topicId: string, wanted: Waiting[]): Promise<void> {
    this.#busy.add(leader.id);
    // A request can name a partition only once; further calls wait for the next request.
    const asked = new Map<number, Waiting>();
    for (const it of wanted) {
      if (asked.has(it.partition)) this.#waiting.push(it);
      else asked.set(it.partition, it);
    }
    try {
      const found = await this.#ask(leader.id, topicId, [...asked.values()]).catch((cause) => {
        throw new LeaderFailed(leader.name, messageOf(cause), cause);
      });
      // A partition whose answer needs further requests must not delay the others.
      for (const it of asked.values()) void this.#settle(leader, it, found.get(it.partition));
      await this.#pause(found);
    } catch (error) {
      refuse(asked.values(), error);
      await this.#refresh().catch(() => {});
    }
    this.#busy.delete(leader.id);
    if (this.#waiting.length > 0) this.#fetchSoon();
  }

  async #pause(found: ReadonlyMap<number, Answer>): Promise<void> {
    const { pace } = this.options;
    if (pace === undefined) return;
    const batches = found.values().reduce((sum, it) => sum + (it.records?.length ?? 0), 0);
    const ms = pace.pauseMs(batches, performance.now());
    if (ms >= 1) await Bun.sleep(ms);
  }

  async #ask(leader: number, topicId: string, wanted: Waiting[]): Promise<Map<number, Answer>> {
    const { consumer, waitMs, windowBytes = READ_WINDOW_BYTES } = this.options;
    const partitions = wanted.map(({ partition, offset }) => ({
      partition,
      fetchOffset: offset,
      partitionMaxBytes: windowBytes,
      currentLeaderEpoch: -1,
      lastFetchedEpoch: -1,
    }));
    const maxBytes = windowBytes * partitions.length;
    const topics = [{ topicId, partitions }];
    const request = { node: leader, topics, maxWaitTime: waitMs, minBytes: 1, maxBytes };
    const ask = () => consumer.fetch(request);
    const answer = await ask()
      .catch((error) => (isOutOfStep(error) ? ask() : Promise.reject(error)))
      .catch(answerOf);
    const answers = answer.responses.flatMap((it) => it.partitions);
    return new Map(answers.map((it) => [it.partitionIndex, it]));
  }

  async #settle(leader: Leader, wanted: Waiting, answer: Answer | undefined): Promise<void> {
    const { partition, offset, resolve, reject } = wanted;
    try {
      if (answer?.errorCode === 0) {
        const fetched = fetchedOf(answer, offset);
        this.#heard.set(partition, { first: fetched.first, end: fetched.end });
        return resolve(fetched);
      }
      const heard = this.#heard.get(partition);
      // The response of a fetch session omits a partition that has not changed since the last one:
      // it has no new values, and the same first and end offset.
      if (answer === undefined && heard !== undefined) {
        return resolve({ values: [], ...heard, isOutOfRange: false });
      }
      if (answer !== undefined && answer.errorCode !== OFFSET_OUT_OF_RANGE) {
        await this.#refresh();
        throw new LeaderFailed(leader.name, `answers with error ${answer.errorCode}`);
      }
      this.#heard.delete(partition);
      const [{ offset: first }, { offset: end }] = await Promise.all([
        this.brokerOffset("first", partition),
        this.brokerOffset("end", partition),
      ]);
      resolve({ values: [], first, end, isOutOfRange: offset < first || offset > end });
    } catch (error) {
      reject(error);
    }
  }

  #expectPlaced(partition: number, topicId: string): void {
    if (!this.#placement.isOfTopic(partition, topicId))
      throw new TopicRecreated(this.options.topic);
  }

  async #leaders(): Promise<Leaders> {
    const { consumer, topic, identity } = this.options;
    const known = await leadersOf(consumer, topic);
    identity?.check(known.topicId);
    return known;
  }

  async #refresh(): Promise<void> {
    const { consumer, topic } = this.options;
    consumer.clearMetadata();
    await consumer.metadata({ topics: [topic], forceUpdate: true });
  }
}

function refuse(waiting: Iterable<Waiting>, error: unknown): void {
  for (const { reject } of waiting) reject(error);
}
