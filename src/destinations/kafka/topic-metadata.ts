import type { BrokerConnections } from "./broker-connections.ts";
import type { BrokerAddress } from "./failures.ts";
import { codeOf } from "./failures.ts";
import { KAFKA_TOPICS_MAX } from "./limits.ts";

/** Age in milliseconds at which the metadata of a topic is requested again. */
const AGE_MS_MAX = 60_000;
/** Most topics of one metadata request, so that its answer stays below the size limit. */
const ASKED_MAX = 100;

export interface TopicLeaders {
  /** Id of the broker that leads each partition; -1 while there is none. */
  leaders: number[];
  /** Time of the answer, in milliseconds of `performance.now()`. */
  askedAt: number;
}

/** Cache of the partitions of topics, and of the brokers that lead them. */
export class TopicMetadata {
  readonly #brokers: BrokerConnections;
  readonly #isMade: boolean;
  readonly #known = new Map<string, TopicLeaders>();
  /**
   * Topics whose creation by the brokers is awaited, with the time of the first request for them.
   */
  readonly #asked = new Map<string, number>();
  #addresses = new Map<number, BrokerAddress>();

  constructor(brokers: BrokerConnections, isMade: boolean) {
    this.#brokers = brokers;
    this.#isMade = isMade;
  }

  get(name: string): TopicLeaders | undefined {
    return this.#known.get(name);
  }

  /** Returns the topics that may be used without exceeding `KAFKA_TOPICS_MAX`. */
  admit(names: Iterable<string>): Set<string> {
    const admitted = new Set<string>();
    let room = KAFKA_TOPICS_MAX - Math.max(this.#known.size, this.#asked.size);
    for (const name of names) {
      const isFresh = !this.#known.has(name) && !this.#asked.has(name) && !admitted.has(name);
      if (isFresh && room <= 0) continue;
      admitted.add(name);
      // A missing topic counts only when the brokers create it.
      if (isFresh && this.#isMade) room -= 1;
    }
    return admitted;
  }

  /** Whether an error of a topic is permanent, so that events for this topic must be refused. */
  isLost(name: string, code: number): boolean {
    const isMissing = code === UNKNOWN_TOPIC || code === LEADER_NOT_AVAILABLE;
    if (isMissing && this.#isMade) {
      return performance.now() - (this.#asked.get(name) ?? 0) > APPEAR_MS_MAX;
    }
    return code === UNKNOWN_TOPIC || lasting.has(code);
  }

  leader(name: string, partition: number): BrokerAddress | undefined {
    const leader = this.#known.get(name)?.leaders[partition];
    return leader === undefined ? undefined : this.#addresses.get(leader);
  }

  /** Makes the next `refresh` request all topics again. */
  expireAll(): void {
    for (const topic of this.#known.values()) topic.askedAt = Number.NEGATIVE_INFINITY;
  }

  /** Requests the topics that are unknown or expired. Returns error codes by topic name. */
  async refresh(names: Iterable<string>, signal: AbortSignal): Promise<Map<string, number>> {
    const faults = new Map<string, number>();
    const oldest = performance.now() - AGE_MS_MAX;
    const due = [...names].filter(
      (name) => !((this.#known.get(name)?.askedAt ?? Number.NEGATIVE_INFINITY) > oldest),
    );
    for (let at = 0; at < due.length; at += ASKED_MAX) {
      await this.#askFor(due.slice(at, at + ASKED_MAX), faults, signal);
    }
    return faults;
  }

  async #askFor(names: string[], faults: Map<string, number>, signal: AbortSignal) {
    const { topics, brokers } = await this.#metadata(names, signal);
    this.#addresses = new Map(brokers.map(({ nodeId, host, port }) => [nodeId, { host, port }]));
    const asked = new Set(names);
    for (const { name, errorCode, partitions } of topics) {
      if (name == null || !asked.has(name)) continue;
      if (errorCode !== 0) {
        faults.set(name, errorCode);
        this.#known.delete(name);
        continue;
      }
      const leaders: number[] = [];
      // Partitions are numbered without gaps; other indexes are ignored.
      for (const { partitionIndex, leaderId } of partitions) {
        if (partitionIndex >= 0 && partitionIndex < partitions.length) {
          leaders[partitionIndex] = leaderId;
        }
      }
      if (leaders.length === 0) faults.set(name, LEADER_NOT_AVAILABLE);
      else this.#known.set(name, { leaders, askedAt: performance.now() });
    }
    for (const name of names) {
      if (!this.#known.has(name) && !faults.has(name)) faults.set(name, UNKNOWN_TOPIC);
    }
  }

  async #metadata(names: string[], signal: AbortSignal) {
    const connection = await this.#brokers.connectAny(signal);
    for (const name of this.#isMade ? names : []) {
      this.#asked.set(name, this.#asked.get(name) ?? performance.now());
    }
    try {
      return await connection.request("metadata", names, this.#isMade, false);
    } catch (error) {
      // The answer with an error of one topic also has the metadata of the others.
      const { ResponseError } = connection.kafka;
      if (!(error instanceof ResponseError) || codeOf(error) === undefined) throw error;
      return error.response as Awaited<ReturnType<typeof connection.request<"metadata">>>;
    }
  }
}

const UNKNOWN_TOPIC = 3;
const LEADER_NOT_AVAILABLE = 5;
/** Error codes after which a topic stays unusable: an invalid name, or missing permission. */
const lasting = new Set([17, 29]);
/**
 * Time in milliseconds after which a topic that the brokers should have created counts as missing.
 */
const APPEAR_MS_MAX = 10_000;
