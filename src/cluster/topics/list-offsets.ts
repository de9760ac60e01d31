import type { Consumer } from "@platformatic/kafka";
import { TopicRecreated } from "./topic-identity.ts";

export type Bound = "first" | "end";

/** First or end offsets of a topic's partitions, as the brokers count them, by partition. */
export interface NamedOffsets {
  offsets: Map<number, bigint>;
  /** Errors of the partitions whose offsets no leader has named. */
  failures: Map<number, unknown>;
}

interface Wanted {
  consumer: Consumer;
  topic: string;
  which: Bound;
}

/** Milliseconds for which a failed request is retried. */
const OFFSETS_MS_MAX = 5_000;
/** Pause in milliseconds before each retry. */
const RETRY_MS = 50;

/** Timestamps that stand for the end and the first offset in Kafka's protocol. */
const LATEST = -1n;
const EARLIEST = -2n;

/**
 * Reads the first or end offsets of some partitions from their leaders, in the order of
 * `partitions`. Retries for `OFFSETS_MS_MAX`, because a new leader refuses until it knows which
 * values were acknowledged.
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
        if (offset === undefined) throw new Error(`No broker names the ${which} of ${it}`);
        return offset;
      });
    } catch (error) {
      if (performance.now() > until || error instanceof TopicRecreated) throw error;
      consumer.clearMetadata();
      await Bun.sleep(RETRY_MS);
    }
  }
}

/**
 * Reads the first or end offsets of all partitions, whose leaders are in `leaders`. Asks each
 * leader for its partitions alone, so that one that does not answer hides no offsets of the others.
 * Returns what is known after `msMax` milliseconds.
 */
export async function listAllOffsets(
  wanted: Wanted,
  leaders: readonly number[],
  msMax = 2 * OFFSETS_MS_MAX,
): Promise<NamedOffsets> {
  const late = new Error(`The leader does not answer within ${msMax} ms`);
  const offsets = new Map<number, bigint>();
  const failures = new Map(leaders.keys().map((it): [number, unknown] => [it, late]));
  const groups = Map.groupBy(leaders.keys(), (it) => leaders[it]).values();
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
  await Promise.race([Promise.all(asked), Bun.sleep(msMax)]);
  // Answers that come later change neither.
  return { offsets: new Map(offsets), failures: new Map(failures) };
}
