import type { Admin, Consumer } from "@platformatic/kafka";
import { OneTimeEvent } from "../../concurrency/one-time-event.ts";
import { withTimeLimit } from "../../concurrency/time-limit.ts";
import type { KafkaClients } from "../../kafka/client.ts";
import type { Logger } from "../../observe/log.ts";
import { apiIdOf } from "../topics/write-refusal.ts";
import { judgeGroup } from "./group-health.ts";
import {
  assignToMembers,
  type ClusterNode,
  DescribedNodes,
  type Introduction,
  type NodeInfo,
} from "./introduction.ts";
import { type PartitionAbility, PartitionRelease } from "./partition-release.ts";
import type { PartitionRunner } from "./partition-runner.ts";

export interface MembershipOptions {
  /** Starts and stops delivery of the partitions that the group assigns to this node. */
  runner: Pick<PartitionRunner, "assign" | "assigned" | "running">;
  logger: Logger;
  clients: KafkaClients;
  /** Name of the Kafka consumer group that all nodes of the cluster join. */
  group: string;
  /** Name of the topic whose partitions are divided among the members. */
  topic: string;
  self: NodeInfo;
  /** Returns which partitions this node can run at present. If absent, this node refuses none. */
  ability?(): PartitionAbility;
  /**
   * Session timeout of the consumer group: milliseconds without a heartbeat after which the group
   * removes a node.
   */
  sessionMs: number;
}

export type MembershipState = ReturnType<Membership["state"]>;

/**
 * Milliseconds between two heartbeats of this node. The response to a heartbeat also says when
 * members join or leave. The main thread sends heartbeats, so the group removes a node whose main
 * thread hangs.
 */
const HEARTBEAT_MS = 400;
/** Pause in milliseconds between two attempts to join the group. */
const RETRY_MS = 500;
/** Interval in milliseconds between two checks whether partitions were added to the topic. */
const GROWTH_MS = 5_000;
/** Milliseconds between two checks whether the brokers answer and which partitions can run here. */
const WATCH_MS = 500;
/**
 * Time without a response, as a multiple of `sessionMs`, after which a member closes its
 * connections to the brokers. This leaves time to ask another broker before the group removes the
 * member.
 */
const HEARTBEAT_SESSIONS = 0.3;
/**
 * Time without a response, as a multiple of `sessionMs`, after which a joining node closes its
 * connections to the brokers. Above 1, because the coordinator may delay a join for `sessionMs`
 * when another member hangs.
 */
const JOIN_SESSIONS = 1.2;
/** Time without a response, in multiples of `sessionMs`, until the coordinator counts as silent. */
const ANSWER_SESSIONS = 1.5;
/** Longest time in milliseconds that `nodes` waits for the brokers' responses. */
const ANSWER_MS_MAX = 2_000;
const lateAnswer = () => new Error(`The brokers named no members within ${ANSWER_MS_MAX} ms`);
/** Longest time in milliseconds that `leave` waits for the brokers. */
const LEAVE_MS_MAX = 2_000;

/**
 * Membership of this node in the Kafka consumer group that divides a topic's partitions among the
 * nodes. Each member delivers the events of its partitions. The constructor joins the group.
 *
 * The old owner of a partition stops it before another node starts it, unless the stop takes longer
 * than half a session timeout or the old owner sends no heartbeats. While no broker answers, each
 * node keeps its partitions. A node that the group removed stops all its partitions before it joins
 * again.
 */
export class Membership {
  readonly #consumer: Consumer;
  readonly #admin: Admin;
  readonly #closed = new OneTimeEvent<void>();
  readonly #loops: Promise<void>[];
  /**
   * Resolves when this node must join the group again. The value is an error that the Kafka library
   * has reported, or undefined if this node itself wants a rebalance.
   */
  #again = Promise.withResolvers<unknown>();
  readonly #release: PartitionRelease;
  readonly #described = new DescribedNodes();
  #reports = 0;
  #isOpen = true;
  #isMember = false;
  #hasJoined = false;
  /** Error of the last attempt to join the group. Undefined once an attempt has succeeded. */
  #joinError: unknown;
  #isLeader = false;
  /** Number of partitions of the topic when this node last joined the group. */
  #partitions = 0;
  #heardAt = performance.now();
  #askedAt = performance.now();

  constructor(private readonly options: MembershipOptions) {
    const { clients, group, topic, sessionMs } = options;
    this.#release = new PartitionRelease(sessionMs);
    this.#admin = clients.admin();
    this.#consumer = clients.groupConsumer({
      groupId: group,
      sessionTimeout: sessionMs,
      rebalanceTimeout: sessionMs,
      heartbeatInterval: Math.min(HEARTBEAT_MS, sessionMs / 5),
      partitionAssigner: (_, members, __, metadata) => assignToMembers(members, topic, metadata),
      protocolsMetadata: (_, __, metadata) => {
        this.#partitions = metadata.topics.get(topic)?.partitionsCount ?? 0;
        return this.#introduce();
      },
    });
    this.#consumer.topics.track(topic);
    this.#listen();
    const watches = [this.#watchGrowth(), this.#watchSilence(), this.#watchAbility()];
    this.#loops = [this.#stayJoined(), ...watches];
  }

  /**
   * Returns the nodes of the cluster, sorted by id, as the brokers describe them. Undefined if the
   * brokers have described none yet. Rejects when no broker answers.
   */
  async nodes(): Promise<ClusterNode[] | undefined> {
    const { group, topic } = this.options;
    const asked = this.#admin.describeGroups({ groups: [group] });
    const found = (await withTimeLimit(asked, ANSWER_MS_MAX, lateAnswer)).get(group);
    return this.#described.take(found, topic);
  }

  /**
   * Returns the state of the membership:
   * - `isMember`: whether this node is a member now
   * - `hasJoined`: whether this node has been a member at any time since its start
   * - `trouble`, `warnings`: the judgement of `judgeGroup`
   * - `partitions`: those assigned to this node
   * - `refused`: those that this node refuses, by reason
   */
  state() {
    const { clients, group, sessionMs, runner } = this.options;
    const joined = { isMember: this.#isMember, hasJoined: this.#hasJoined };
    const health = judgeGroup({
      ...joined,
      joinError: this.#joinError,
      group,
      silentMs: performance.now() - this.#heardAt,
      silentMsMax: ANSWER_SESSIONS * sessionMs,
      isAnyResponsive: !clients.view.isEmpty,
      runsPartitions: runner.running().length > 0,
    });
    const partitions = runner.assigned();
    return { ...joined, ...health, partitions, refused: this.#release.refused() };
  }

  /** Stops this node's partitions and leaves the group, so that other nodes take them over. */
  async leave(): Promise<void> {
    this.#isOpen = false;
    this.#closed.happen();
    await this.options.runner.assign([], this.#release.refusedNumbers());
    const left = this.#consumer.close(true).catch(() => {});
    await Promise.race([Promise.all([left, ...this.#loops]), Bun.sleep(LEAVE_MS_MAX)]);
    this.#isMember = false;
  }

  #listen(): void {
    const consumer = this.#consumer;
    const heard = () => {
      this.#heardAt = performance.now();
    };
    consumer.on("consumer:group:join", ({ isLeader, assignments }) => {
      this.#isMember = true;
      this.#hasJoined = true;
      this.#isLeader = isLeader === true;
      heard();
      if (this.#isOpen) void this.#assign(this.#partitionsOf(assignments));
    });
    consumer.on("consumer:heartbeat:end", heard);
    consumer.on("consumer:group:rebalance", heard);
    consumer.on("error", (error: unknown) => this.#again.resolve(error));
  }

  /**
   * Returns the metadata that this node sends when it joins the group. First stops the partitions
   * that the group took away, because the join frees them for other nodes. Waits at most half a
   * session timeout for the stops.
   */
  async #introduce(): Promise<Buffer> {
    const { self, sessionMs } = this.options;
    this.#askedAt = performance.now();
    this.#isMember &&= this.#consumer.memberId !== null;
    const kept = this.#isOpen ? this.#partitionsOf(this.#consumer.assignments) : [];
    await Promise.race([this.#assign(kept), Bun.sleep(sessionMs / 2)]);
    this.#release.reported();
    const introduction: Introduction = {
      ...self,
      refused: this.#release.refused(),
      canRun: this.options.ability?.().canRun,
      reports: this.#reports,
    };
    return Buffer.from(JSON.stringify(introduction));
  }

  async #stayJoined(): Promise<void> {
    const { logger } = this.options;
    let isTold = false;
    while (this.#isOpen) {
      this.#again = Promise.withResolvers();
      try {
        await this.#consumer.joinGroup({});
        this.#joinError = undefined;
        if (isTold) logger.info("node joined the cluster again");
        isTold = false;
        const error = await this.#closed.race(this.#again.promise);
        if (error !== undefined) throw error;
      } catch (err) {
        this.#joinError = err;
        if (apiIdOf(err) !== undefined) this.#heardAt = performance.now();
        if (this.#isOpen && !isTold)
          logger.error({ err }, "node cannot join the cluster; retrying");
        isTold = true;
        await this.#pause(RETRY_MS);
      }
    }
  }

  /**
   * Joins the group again when partitions were added to the topic and this node is the group's
   * leader. Joining starts a rebalance, which assigns the new partitions.
   */
  async #watchGrowth(): Promise<void> {
    const { topic } = this.options;
    while (this.#isOpen) {
      await this.#pause(GROWTH_MS);
      if (!this.#isMember || !this.#isLeader) continue;
      const found = await this.#admin.metadata({ topics: [topic] }).catch(() => undefined);
      const count = found?.topics.get(topic)?.partitionsCount ?? 0;
      if (count > this.#partitions) this.#again.resolve(undefined);
    }
  }

  /**
   * Checks regularly whether the brokers respond, and closes the connections when they have not
   * responded for too long. The Kafka library then asks another broker.
   */
  async #watchSilence(): Promise<void> {
    const { sessionMs } = this.options;
    for (let last = performance.now(); this.#isOpen; await this.#pause(WATCH_MS)) {
      // Time in which this process itself stood still says nothing about the brokers.
      this.#heardAt += Math.max(0, performance.now() - last - 2 * WATCH_MS);
      last = performance.now();
      const silentMs = performance.now() - Math.max(this.#heardAt, this.#askedAt);
      const sessions = this.#consumer.isActive() ? HEARTBEAT_SESSIONS : JOIN_SESSIONS;
      if (silentMs < sessions * sessionMs) continue;
      this.#askedAt = performance.now();
      for (const [, connection] of this.#consumer.connections) connection.socket.destroy();
    }
  }

  /**
   * Decides regularly which partitions this node refuses. When the other nodes must learn of a
   * change, makes this node join the group again, because each join makes the leader assign all
   * partitions again.
   */
  async #watchAbility(): Promise<void> {
    const { ability, runner, logger } = this.options;
    if (ability === undefined) return;
    for (let last = performance.now(); this.#isOpen; await this.#pause(WATCH_MS)) {
      const now = performance.now();
      const held = runner.assigned();
      this.#release.observe(ability(), held, now - last);
      last = now;
      if (!this.#isMember || !this.#release.isReportDue(held)) continue;
      // The coordinator ignores a join that says the same as the last one.
      this.#reports += 1;
      this.#release.reported();
      logger.warn({ refused: this.#release.refused() }, "refused partitions reported");
      this.#again.resolve(undefined);
    }
  }

  #assign(partitions: readonly number[]): Promise<void> {
    return this.options.runner.assign(partitions, this.#release.abandonedNumbers());
  }

  async #pause(ms: number): Promise<void> {
    await this.#closed.race(Bun.sleep(ms));
  }

  #partitionsOf(assignments: Consumer["assignments"] | undefined): number[] {
    return assignments?.find(({ topic }) => topic === this.options.topic)?.partitions ?? [];
  }
}
