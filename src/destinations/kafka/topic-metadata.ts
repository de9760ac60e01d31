import {
  type LeaderStatement,
  latestStatement,
  mostFrequent,
  statementsByPartition,
} from "../../kafka/leader-epochs.ts";
import type { MetadataAnswer } from "../../kafka/library.ts";
import type { BrokerConnection } from "./broker-connection.ts";
import type { BrokerConnections } from "./broker-connections.ts";
import { type BrokerAddress, codeOf, isOfTopic } from "./failures.ts";
import { KAFKA_TOPICS_MAX } from "./limits.ts";

/** Age in milliseconds at which the metadata of a topic is requested again. */
const AGE_MS_MAX = 60_000;
/** Maximum topics in one metadata request, so that the answer fits `DATABASE_ANSWER_BYTES_MAX`. */
const ASKED_MAX = 100;

interface TopicLeaders {
  /** Id of the topic, or an empty string if the broker is older than Kafka 2.8. */
  id: string;
  /**
   * Latest statement of a broker about the leader of each partition, by the partition's number: the
   * leader's broker id (-1 while there is no leader), and the leader epoch, which grows with each
   * new leader.
   */
  leaders: LeaderStatement[];
  /** Time at which a broker answered with this metadata, as `performance.now()` gives it. */
  answeredAt: number;
}

/** Cache of the partitions of topics, and of the brokers that lead them. */
export class TopicMetadata {
  readonly #known = new Map<string, TopicLeaders>();
  /**
   * Topics that the brokers were asked to create and that do not exist yet. Maps the topic's name
   * to the time of the first request to create it, on the clock of `performance.now()`.
   */
  readonly #asked = new Map<string, number>();
  #addresses = new Map<number, BrokerAddress>();
  /**
   * Whether the next metadata request is sent to several brokers instead of one, because a request
   * failed and the leaders may have changed.
   */
  #isInDoubt = false;

  /** With `createsTopics`, each metadata request asks the brokers to create missing topics. */
  constructor(
    private readonly brokers: BrokerConnections,
    private readonly createsTopics: boolean,
  ) {}

  get(name: string): TopicLeaders | undefined {
    return this.#known.get(name);
  }

  /**
   * Returns those topics in `names` to which records may be written: all that are in use already,
   * and new ones while fewer than `KAFKA_TOPICS_MAX` topics are in use.
   */
  admit(names: Iterable<string>): Set<string> {
    const admitted = new Set<string>();
    let room = KAFKA_TOPICS_MAX - this.#known.size - this.#asked.size;
    for (const name of names) {
      const isFresh = !this.#known.has(name) && !this.#asked.has(name) && !admitted.has(name);
      if (isFresh && room <= 0) continue;
      admitted.add(name);
      // A missing topic counts only when the brokers create it.
      if (isFresh && this.createsTopics) room -= 1;
    }
    return admitted;
  }

  /** Whether a topic's error `code` is permanent, so that events for the topic must be refused. */
  isLost(name: string, code: number): boolean {
    const isMissing = code === UNKNOWN_TOPIC || code === LEADER_NOT_AVAILABLE;
    if (isMissing && this.createsTopics) {
      const askedAt = this.#asked.get(name);
      return askedAt !== undefined && performance.now() - askedAt > APPEAR_MS_MAX;
    }
    return code === UNKNOWN_TOPIC || isOfTopic(code);
  }

  leader(name: string, partition: number): BrokerAddress | undefined {
    const leader = this.#known.get(name)?.leaders[partition];
    return leader === undefined ? undefined : this.#addresses.get(leader.leaderId);
  }

  /**
   * Marks the metadata of all topics as expired. The next `refresh` asks several brokers instead of
   * one, because a broker that is cut off from the others would still name the former leaders.
   */
  expireAll(): void {
    this.#isInDoubt = true;
    for (const topic of this.#known.values()) topic.answeredAt = Number.NEGATIVE_INFINITY;
  }

  /**
   * Requests metadata that is not cached or has expired. Returns the error codes of topics without
   * usable metadata, by topic name.
   */
  async refresh(names: Iterable<string>, signal: AbortSignal): Promise<Map<string, number>> {
    const faults = new Map<string, number>();
    const oldest = performance.now() - AGE_MS_MAX;
    const due = [...names].filter(
      (name) => !((this.#known.get(name)?.answeredAt ?? Number.NEGATIVE_INFINITY) > oldest),
    );
    const unknown: string[] = [];
    for (const piece of piecesOf(due)) {
      const answers = await this.#answers(piece, signal);
      this.#addresses = addressesIn(answers);
      const missing = this.#mayLag ? missingIn(answers, piece) : new Set<string>();
      unknown.push(...missing);
      this.#learn(new Set(piece).difference(missing), answers, faults);
    }
    // The pieces are asked for at the same time, because a silent broker delays each of them.
    const again = piecesOf(unknown).map(async (piece) => {
      const answers = await this.#askSeveral(piece, signal);
      this.#addresses = new Map([...this.#addresses, ...addressesIn(answers)]);
      this.#learn(piece, answers, faults);
    });
    await Promise.all(again);
    if (due.length > 0) this.#isInDoubt = false;
    return faults;
  }

  /**
   * Whether a broker that does not know a topic may lag behind the others, or be cut off from them,
   * so that several others are asked as well. Brokers that create topics get time for it instead.
   */
  get #mayLag(): boolean {
    return !this.#isInDoubt && !this.createsTopics;
  }

  /** Stores what brokers answered about these topics. Adds the codes of others to `faults`. */
  #learn(
    names: Iterable<string>,
    answers: readonly MetadataAnswer[],
    faults: Map<string, number>,
  ): void {
    for (const name of names) {
      const stated = statedOf(name, answers);
      const valid = stated.filter(({ errorCode }) => errorCode === 0);
      const before = this.#isInDoubt ? undefined : this.#known.get(name);
      if (valid.length === 0) {
        faults.set(name, faultOf(stated));
        // The topic was deleted, and this request has asked the brokers to create it again.
        if (this.#known.delete(name) && this.createsTopics)
          this.#asked.set(name, performance.now());
        continue;
      }
      const topic = latestLeaders(valid, before);
      if (topic.leaders.length === 0) faults.set(name, LEADER_NOT_AVAILABLE);
      // One delivery may name more topics that exist than there is room for.
      else if (this.#known.has(name) || this.#known.size < KAFKA_TOPICS_MAX) {
        this.#known.set(name, topic);
        this.#asked.delete(name);
      }
    }
  }

  async #answers(names: string[], signal: AbortSignal): Promise<MetadataAnswer[]> {
    if (this.#isInDoubt) return await this.#askSeveral(names, signal);
    return [await this.#metadata(await this.brokers.connectAny(signal), names)];
  }

  async #askSeveral(names: string[], signal: AbortSignal): Promise<MetadataAnswer[]> {
    const ask = (connection: BrokerConnection) => this.#metadata(connection, names);
    return await this.brokers.askSeveral(this.#addresses.values(), ask, signal);
  }

  async #metadata(connection: BrokerConnection, names: string[]): Promise<MetadataAnswer> {
    for (const name of this.createsTopics ? names : []) {
      if (!this.#known.has(name)) this.#asked.getOrInsert(name, performance.now());
    }
    try {
      return await connection.exchange("metadata", (api, over) =>
        api.async(over, names, this.createsTopics, false),
      );
    } catch (error) {
      // The answer with an error of one topic also has the metadata of the others.
      const { ResponseError } = connection.kafka;
      if (!(error instanceof ResponseError) || codeOf(error) === undefined) throw error;
      return error.response as MetadataAnswer;
    }
  }
}

function addressesIn(answers: readonly MetadataAnswer[]): Map<number, BrokerAddress> {
  const brokers = answers.flatMap((answer) => answer.brokers);
  return new Map(brokers.map(({ nodeId, host, port }) => [nodeId, { host, port }]));
}

function piecesOf(names: readonly string[]): string[][] {
  const starts = Array.from({ length: Math.ceil(names.length / ASKED_MAX) }, (_, n) => n);
  return starts.map((n) => names.slice(n * ASKED_MAX, (n + 1) * ASKED_MAX));
}

/** Returns those topics in `names` that the brokers do not know. */
function missingIn(answers: readonly MetadataAnswer[], names: readonly string[]): Set<string> {
  return new Set(names.filter((name) => faultOf(statedOf(name, answers)) === UNKNOWN_TOPIC));
}

/** Returns the statements of brokers about one topic. */
function statedOf(name: string, answers: readonly MetadataAnswer[]): MetadataAnswer["topics"] {
  return answers.flatMap(({ topics }) => topics.filter((it) => it.name === name));
}

/**
 * Returns the error code of a topic from the statements of brokers; 0 if one of them has metadata.
 * A broker that knows the topic is believed rather than one that does not.
 */
function faultOf(stated: MetadataAnswer["topics"]): number {
  const codes = stated.map(({ errorCode }) => errorCode);
  if (codes.includes(0)) return 0;
  return codes.find((code) => code !== UNKNOWN_TOPIC) ?? UNKNOWN_TOPIC;
}

/**
 * Returns the metadata of one topic from the answers of several brokers and from `before`, the
 * earlier metadata. The leader of each partition is the one with the highest leader epoch.
 */
function latestLeaders(answers: MetadataAnswer["topics"], before?: TopicLeaders): TopicLeaders {
  // The leader epochs of a topic that was created again begin at 0 again.
  const id = mostFrequent(answers.map(({ topicId }) => topicId ?? ""));
  const same = answers.filter(({ topicId }) => (topicId ?? "") === id);
  const leaders = statementsByPartition(same.map(({ partitions }) => partitions)).map(
    (stated, partition) => {
      const earlier = before?.id === id ? before.leaders[partition] : undefined;
      return latestStatement(earlier === undefined ? stated : [...stated, earlier]) ?? NO_LEADER;
    },
  );
  return { id, leaders, answeredAt: performance.now() };
}

const NO_LEADER: LeaderStatement = { leaderId: -1 };

const UNKNOWN_TOPIC = 3;
const LEADER_NOT_AVAILABLE = 5;
/**
 * Maximum milliseconds that the brokers may take to create a topic, counted from the first request
 * to create it. A topic that does not exist after this time counts as missing.
 */
const APPEAR_MS_MAX = 10_000;
