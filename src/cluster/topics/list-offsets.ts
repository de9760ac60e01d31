import type { Consumer } from "@platformatic/kafka";
import { withTimeLimit } from "../../concurrency/time-limit.ts";
import { messageOf } from "../../errors.ts";
import { addressOf } from "../../kafka/cluster-view.ts";
import { LeaderFailed } from "./fetch-answer.ts";
import { TopicRecreated } from "./topic-identity.ts";

export type Bound = "first" | "end";

/** First or end offsets of a topic's partitions, with no offset base added (see `OffsetBases`). */
export interface NamedOffsets {
  offsets: Map<number, bigint>;
  /** For each partition whose offset could not be read, the error that says why. */
  failures: Map<number, unknown>;
}

interface Wanted {
  consumer: Consumer;
  topic: string;
  which: Bound;
}

/** Brokers that lead the partitions of a topic. */
export interface Leaders {
  topicId: string;
  /** Broker id of each partition's leader, -1 for none. */
  leaders: number[];
  /** Returns the address of a broker, or its id as text if its address is not known. */
  nameOf(id: number): string;
}

/** Milliseconds for which a failed request for offsets is repeated. */
const OFFSETS_MS_MAX = 5_000;
/** Pause in milliseconds before each repetition of a failed request for offsets. */
const RETRY_MS = 50;

/**
 * Timestamp that stands for the end offset in a Kafka request for offsets. `EARLIEST` stands for
 * the first offset.
 */
const LATEST = -1n;
const EARLIEST = -2n;

/** Returns the leaders of a topic. Rejects if the topic is not known. */
export async function leadersOf(consumer: Consumer, topic: string): Promise<Leaders> {
  const { topics, brokers } = await consumer.metadata({ topics: [topic] });
  const found = topics.get(topic);
  if (found === undefined) throw new Error(`The topic ${topic} is not there`);
  return {
    topicId: found.id,
    leaders: found.partitions.map(({ leader }) => leader),
    nameOf(id) {
      const broker = brokers.get(id);
      return broker === undefined ? `${id}` : addressOf(broker);
    },
  };
}

/** Returns an error that says that a partition of `topic` has no leader. */
export const leaderless = (topic: string) => new Error(`a partition of ${topic} has no leader`);

/**
 * Reads the first or end offsets of partitions that one broker leads, in the order of `partitions`.
 * Retries for `OFFSETS_MS_MAX`, because a new leader refuses requests until it knows which values
 * were acknowledged.
 */
export async function listOffsets(
  { consumer, topic, which }: Wanted,
  partitions: readonly number[],
): Promise<bigint[]> {
  const timestamp = which === "first" ? EARLIEST : LATEST;
  const options = { topics: [topic], timestamp, partitions: { [topic]: [...partitions] } };
  const until = performance.now() + OFFSETS_MS_MAX;
  for (;;) {
    try {
      const listed = (await consumer.listOffsets(options)).get(topic);
      return partitions.map((it) => {
        const offset = listed?.[it];
        if (offset === undefined) throw new Error(`does not name the ${which} of partition ${it}`);
        return offset;
      });
    } catch (error) {
      if (error instanceof TopicRecreated) throw error;
      if (performance.now() > until) {
        // The library's error has no broker's name.
        const known = await leadersOf(consumer, topic).catch(() => Promise.reject(error));
        const leader = known.leaders[partitions[0]!] ?? -1;
        if (leader < 0) throw leaderless(topic);
        throw new LeaderFailed(known.nameOf(leader), messageOf(error), error);
      }
      consumer.clearMetadata();
      await Bun.sleep(RETRY_MS);
    }
  }
}

/**
 * Reads the first or end offsets of all partitions, from each leader in `known` separately, so that
 * a silent leader does not delay the others. Returns within `msMax` milliseconds. Partitions
 * without an answer are in `failures`.
 */
export async function listAllOffsets(
  wanted: Wanted,
  known: Leaders,
  msMax = 2 * OFFSETS_MS_MAX,
): Promise<NamedOffsets> {
  const late = `has not answered within ${msMax} ms`;
  const offsets = new Map<number, bigint>();
  const failures = new Map(
    known.leaders.entries().map(([it, leader]): [number, unknown] => {
      const error =
        leader < 0 ? leaderless(wanted.topic) : new LeaderFailed(known.nameOf(leader), late);
      return [it, error];
    }),
  );
  const groups = Map.groupBy(known.leaders.keys(), (it) => known.leaders[it]).values();
  const asked = [...groups].map(async (partitions) => {
    try {
      const found = await listOffsets(wanted, partitions);
      for (const [index, partition] of partitions.entries()) {
        offsets.set(partition, found[index]!);
        failures.delete(partition);
      }
    } catch (error) {
      for (const partition of partitions) failures.set(partition, error);
    }
  });
  await withTimeLimit(Promise.all(asked), msMax, () => new Error(late)).catch(() => {});
  // The copies do not change when further leaders answer.
  return { offsets: new Map(offsets), failures: new Map(failures) };
}
