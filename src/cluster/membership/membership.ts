import type {
  Admin,
  Consumer,
  GroupPartitionsAssigner,
  GroupPartitionsAssignments,
} from "@platformatic/kafka";
import type { KafkaClients } from "../../kafka/client.ts";
import type { Logger } from "../../observe/log.ts";
import { assignPartitions } from "./partition-assignment.ts";
import type { PartitionRunner } from "./partition-runner.ts";

/** Description that a node gives to the group. */
export interface NodeInfo {
  id: string;
  version: string;
  controlPlaneUrl: string;
}

export interface ClusterNode extends NodeInfo {
  /** The partitions it runs, ascending. */
  partitions: number[];
}

export interface MembershipOptions {
  /** Runs the partitions that the group assigns to this node. */
  runner: Pick<PartitionRunner, "assign" | "assigned">;
  logger: Logger;
  clients: KafkaClients;
  /** Name of the group. */
  group: string;
  /** Topic whose partitions the members share. */
  topic: string;
  self: NodeInfo;
  /** A node that is not heard of for so long is replaced. */
  sessionMs: number;
}

export interface MembershipState {
  /** Whether the node is in the group, as far as it knows. */
  isMember: boolean;
  /** The partitions that are this node's, ascending. */
  partitions: number[];
  /** Why other nodes may think that this one is gone, as a sentence; undefined when they do not. */
  trouble: string | undefined;
}

export interface Membership {
  /** All nodes of the cluster, by id, as the brokers know them; rejects when these do not answer. */
  nodes(): Promise<ClusterNode[]>;
  state(): MembershipState;
  /** Stops all partitions of this node; then others have them at once. */
  leave(): Promise<void>;
}

/**
 * How often a node tells the brokers that it lives, and hears that others have come or gone. It is
 * the main thread that does: a node whose main thread hangs is to be replaced.
 */
const HEARTBEAT_MS = 400;
/** Pause between two attempts to join. */
const RETRY_MS = 500;
/** How often it is looked whether the topic has more partitions. */
const GROWTH_MS = 5_000;
/** How often it is looked whether a broker has answered. */
const WATCH_MS = 500;
/**
 * Sessions for which an answer is waited for: to a heartbeat, so that others can be asked in time;
 * to an attempt to join, during which a member that hangs is waited for; by any broker at all.
 */
const HEARTBEAT_SESSIONS = 0.3;
const JOIN_SESSIONS = 1.2;
const ANSWER_SESSIONS = 1.5;
/** Longest that is waited for the brokers to name the members. */
const ANSWER_MS_MAX = 3_000;
/** Longest that a node which leaves waits for the brokers to know. */
const LEAVE_MS_MAX = 2_000;

/**
 * Joins the group of the nodes that share the partitions of a topic. Whoever the brokers choose
 * among the members shares them out. A partition that moves is stopped by its old owner before its
 * new one hears of it, unless the old one takes half a session for it, or is not heard of. A node
 * that finds that it was replaced stops all that it has before it joins again. While no broker
 * answers, each node keeps what it has.
 */
export function joinCluster(options: MembershipOptions): Membership {
  return new GroupMember(options);
}

class GroupMember implements Membership {
  readonly #options: MembershipOptions;
  readonly #consumer: Consumer;
  readonly #admin: Admin;
  readonly #closed = Promise.withResolvers<void>();
  readonly #loops: Promise<void>[];
  /** Settles when it is to join again: with the error for which the library gave up, if it did. */
  #again = Promise.withResolvers<unknown>();
  #isOpen = true;
  #isMember = false;
  #isLeader = false;
  /** Partitions that the topic had when this node joined. */
  #partitions = 0;
  #heardAt = performance.now();
  #askedAt = performance.now();

  constructor(options: MembershipOptions) {
    const { clients, group, topic, sessionMs } = options;
    this.#options = options;
    this.#admin = clients.admin();
    this.#consumer = clients.groupConsumer({
      ...{ groupId: group, sessionTimeout: sessionMs, rebalanceTimeout: sessionMs },
      heartbeatInterval: Math.min(HEARTBEAT_MS, sessionMs / 5),
      partitionAssigner: (_, members, __, metadata) => {
        return assign(members, topic, metadata.topics.get(topic)?.partitionsCount ?? 0);
      },
      protocolsMetadata: (_, __, metadata) => {
        this.#partitions = metadata.topics.get(topic)?.partitionsCount ?? 0;
        return this.#introduce();
      },
    });
    this.#consumer.topics.track(topic);
    this.#listen();
    this.#loops = [this.#stayJoined(), this.#watchGrowth(), this.#watchSilence()];
  }

  async nodes(): Promise<ClusterNode[]> {
    const { group, topic } = this.#options;
    const asked = this.#admin.describeGroups({ groups: [group] });
    const found = (await Promise.race([asked, rejectLate()])).get(group);
    const members = [...(found?.members.values() ?? [])].flatMap(({ metadata, assignments }) => {
      // One that is just joining has not been given anything, and has no name yet.
      const self = metadata?.metadata?.toString();
      if (!self) return [];
      const partitions = assignments?.get(topic)?.partitions ?? [];
      return [{ ...(JSON.parse(self) as NodeInfo), partitions: partitions.toSorted(ascending) }];
    });
    return members.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  state(): MembershipState {
    const silentMs = performance.now() - this.#heardAt;
    const silent = `The brokers have not answered for ${Math.round(silentMs / 1_000)} s`;
    return {
      isMember: this.#isMember,
      partitions: this.#options.runner.assigned(),
      trouble: silentMs > ANSWER_SESSIONS * this.#options.sessionMs ? silent : undefined,
    };
  }

  async leave(): Promise<void> {
    this.#isOpen = false;
    this.#closed.resolve();
    await this.#options.runner.assign([]);
    const left = this.#consumer.close(true).catch(() => {});
    await Promise.race([Promise.all([left, ...this.#loops]), Bun.sleep(LEAVE_MS_MAX)]);
    this.#isMember = false;
  }

  #listen(): void {
    const consumer = this.#consumer;
    consumer.on("consumer:group:join", ({ isLeader, assignments }) => {
      this.#isMember = true;
      this.#isLeader = isLeader === true;
      this.#heardAt = performance.now();
      if (this.#isOpen) void this.#options.runner.assign(this.#partitionsOf(assignments));
    });
    consumer.on("consumer:heartbeat:end", () => {
      this.#heardAt = performance.now();
    });
    consumer.on("error", (error: unknown) => this.#again.resolve(error));
  }

  /**
   * Called before each attempt to join, when a broker has answered. What was taken from this node is
   * stopped first: by joining it tells the others that it has let go.
   */
  async #introduce(): Promise<Buffer> {
    const { self, sessionMs } = this.#options;
    this.#heardAt = performance.now();
    this.#isMember &&= this.#consumer.memberId !== null;
    const kept = this.#isOpen ? this.#partitionsOf(this.#consumer.assignments) : [];
    await Promise.race([this.#options.runner.assign(kept), Bun.sleep(sessionMs / 2)]);
    return Buffer.from(JSON.stringify(self));
  }

  async #stayJoined(): Promise<void> {
    const { logger } = this.#options;
    let isTold = false;
    while (this.#isOpen) {
      this.#again = Promise.withResolvers();
      try {
        await this.#consumer.joinGroup({});
        if (isTold) logger.info("This node is a member of the cluster again");
        isTold = false;
        const error = await Promise.race([this.#again.promise, this.#closed.promise]);
        if (error !== undefined) throw error;
      } catch (err) {
        if (this.#isOpen && !isTold) logger.error({ err }, "This node cannot join the cluster");
        isTold = true;
        await this.#pause(RETRY_MS);
      }
    }
  }

  /** Partitions that come to the topic are shared out by the member that shared out the others. */
  async #watchGrowth(): Promise<void> {
    const { topic } = this.#options;
    while (this.#isOpen) {
      await this.#pause(GROWTH_MS);
      if (!this.#isMember || !this.#isLeader) continue;
      const found = await this.#admin.metadata({ topics: [topic] }).catch(() => undefined);
      const count = found?.topics.get(topic)?.partitionsCount ?? 0;
      if (count > this.#partitions) this.#again.resolve(undefined);
    }
  }

  /** A broker may take requests and never answer; another one is asked then. */
  async #watchSilence(): Promise<void> {
    const { sessionMs } = this.#options;
    for (; this.#isOpen; await this.#pause(WATCH_MS)) {
      const silentMs = performance.now() - Math.max(this.#heardAt, this.#askedAt);
      const sessions = this.#consumer.isActive() ? HEARTBEAT_SESSIONS : JOIN_SESSIONS;
      if (silentMs < sessions * sessionMs) continue;
      this.#askedAt = performance.now();
      for (const [, connection] of this.#consumer.connections) connection.socket.destroy();
    }
  }

  async #pause(ms: number): Promise<void> {
    await Promise.race([Bun.sleep(ms), this.#closed.promise]);
  }

  #partitionsOf(assignments: Consumer["assignments"] | undefined): number[] {
    return assignments?.find(({ topic }) => topic === this.#options.topic)?.partitions ?? [];
  }
}

async function rejectLate(): Promise<never> {
  await Bun.sleep(ANSWER_MS_MAX);
  throw new Error(`Expected the brokers to name the members within ${ANSWER_MS_MAX} ms`);
}

const ascending = (a: number, b: number) => a - b;

type Joined = Parameters<GroupPartitionsAssigner>[1];

/** Shares out the partitions of a topic among those that joined. */
function assign(joined: Joined, topic: string, partitions: number): GroupPartitionsAssignments[] {
  const holders = [...joined.values()].map(({ memberId, generationId, ownedPartitions }) => ({
    id: memberId,
    generation: generationId ?? -1,
    held: ownedPartitions?.find((it) => it.topic === topic)?.partitions ?? [],
  }));
  return [...assignPartitions(holders, partitions)].map(([memberId, own]) => ({
    memberId,
    assignments: new Map([[topic, { topic, partitions: own }]]),
  }));
}
