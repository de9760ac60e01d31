import { hostname } from "node:os";
import { assert } from "../assert.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { logNameOf, openPartitionLogs } from "../cluster/events/partition-logs.ts";
import { endProver } from "../cluster/events/proven-end.ts";
import { Membership, type MembershipState } from "../cluster/membership/membership.ts";
import { clockCorrection, clockWarnings } from "../cluster/membership/node-clock.ts";
import type { StoppedPartition } from "../cluster/membership/partition-runner.ts";
import { registerClusterMetrics } from "../cluster/metrics.ts";
import { openNodeBus } from "../cluster/node-bus/node-bus.ts";
import { createNodeRpc } from "../cluster/node-bus/node-rpc.ts";
import { createTailRelay } from "../cluster/node-bus/tail-relay.ts";
import { openOrderedTopic } from "../cluster/ordered-log/ordered-topic.ts";
import { awaitBrokers } from "../cluster/topics/await-brokers.ts";
import type { TopicOpening } from "../cluster/topics/ensure-topic.ts";
import { nameNumbers } from "../cluster/topics/number-list.ts";
import { accessOf } from "../cluster/topics/partition-access.ts";
import { judgeTopics } from "../cluster/topics/topic-health.ts";
import { monitorTopicSettings } from "../cluster/topics/topic-settings-monitor.ts";
import { judgeReading } from "../cluster/topics/troubles.ts";
import { sourceOfRecord } from "../event/record.ts";
import {
  clusterDirectory,
  expectFittingDirectory,
  topicIds,
} from "../first-start/data-directory.ts";
import { expectSameToken } from "../first-start/first-workspace.ts";
import { type BrokerSettings, connectClients, type KafkaClients } from "../kafka/client.ts";
import { correctedClock } from "../pipeline/clock.ts";
import type { TailMessage } from "../pipeline/live-tail.ts";
import { createPipelineHost } from "../pipeline/pipeline.ts";
import { version } from "../version.ts";
import { type Backend, type Check, checkOf, type StartContext } from "./backend.ts";
import { brokerSettings } from "./broker-settings.ts";
import { openServedCatalog } from "./open-catalog.ts";
import { type AbilitySources, partitionAbility } from "./partition-ability.ts";
import { PartitionLedgers } from "./partition-ledgers.ts";
import { type PartitionPipelines, runPartitionPipelines } from "./partition-pipelines.ts";
import { sharedFigures } from "./shared-figures.ts";

/**
 * Function that returns the options for opening a Kafka topic of the cluster. `name` is the part of
 * the topic's name after the prefix `cluster.name`, such as `catalog`.
 */
type TopicOpeningOf = (name: string) => TopicOpening;

/**
 * Opens the storage of a cluster node: Kafka topics, and local copies of most of them. Throws
 * `StartError` if the brokers refuse this node, a topic is unusable, or the data directory belongs
 * to a standalone server.
 */
export async function openCluster(opening: StartContext): Promise<Backend> {
  const { config, logger, metrics, stack, steps } = opening;
  expectFittingDirectory(config);
  const brokers = brokerSettings(config);
  const clients = await steps.run("reach the brokers", () => openClients(brokers, stack));
  const { "cluster.name": group, "cluster.replicas": replicas } = config;
  const topic = (name: string) => ({ clients, name: `${group}.${name}`, replicas, logger });

  const catalog = await steps.run("read the catalog", () => openSharedCatalog(opening, topic));
  const logs = await steps.run("open the topic of events", () =>
    openPartitionLogs({
      clients,
      brokers,
      logger,
      metrics,
      topic: { ...topic("events"), partitions: config["cluster.partitions"] },
      sourceOf: sourceOfRecord,
    }),
  );
  stack.defer(() => logs.close());
  const node = `${hostname()}-${crypto.randomUUID().slice(0, 8)}`;
  const ledgers = await steps.run("read the ledgers", () =>
    PartitionLedgers.open({ topic: topic("ledgers"), config, logs, onNewer: opening.requestStop }),
  );
  stack.defer(() => ledgers.close());
  const bus = await steps.run("open the topic of nodes", () => openNodeBus(topic("nodes")));
  stack.defer(() => bus.close());
  const questions = createNodeRpc({ bus, node, expected: () => ledgers.owners() });
  stack.defer(() => questions.close());
  const audience = createTailRelay<TailMessage>(bus);
  stack.defer(() => audience.close());
  const watch = watchTopics(opening, clients.admin(), topic, logs.readers.size);
  const standing = judgeTopics({
    clients,
    topics: () => TOPICS.map((it) => ({ ...it, ...topic(it.name) })),
  });
  const reading = () => judgeReading(accessOf(clients, group), logs.trouble());
  const warnings = () => [
    ...standing.missing(false),
    ...standing.warnings([
      ...reading().warnings,
      ...ledgerHealth().warnings,
      ...(membership?.state().warnings ?? []),
      ...describeStopped(stopped()),
    ]),
    ...watch.warnings(),
    ...clockWarnings(node, clients.clockErrorMs()),
  ];
  let pipelines: PartitionPipelines | undefined;
  let membership: Membership | undefined;
  const running = () => pipelines?.runner.running() ?? [];
  const stopped = () => pipelines?.runner.stopped() ?? [];
  const ledgerHealth = () => ledgers.health(running().length > 0);
  registerClusterMetrics(metrics, {
    partitions: () => running().length,
    stopped: () => stopped().length,
    troubles: () => standing.missing(true).length + warnings().length,
    clockErrorMs: () => clients.clockErrorMs(),
  });

  return {
    warnings,
    catalog,
    logs,
    others: Object.assign(questions, { running, stopped }),
    catalogDirectory: clusterDirectory(config, "catalog"),
    figures: sharedFigures(opening, topic("figures"), () => running().length / logs.readers.size),
    startPipeline(work) {
      const host = createPipelineHost({
        ...work,
        live: catalog.live,
        catalogCurrent: () => catalog.current(),
        clock: correctedClock(clockCorrection(clients)),
        readers: logs.readers,
        remoteTail: audience,
        logger,
        metrics,
        onDurable: (listener) => logs.onDurable(listener),
        logEnds: () => logs.ends(),
        ledgers: () => ledgers.all(),
      });
      const proveEnd = endProver(clients, `${group}.events`);
      const partitions = { ledgers, logs, proveEnd, live: catalog.live, host, node, logger };
      const started = runPartitionPipelines(partitions);
      stack.defer(() => started.runner.close());
      pipelines = started;
      return host;
    },
    join(controlPlaneUrl, sandboxTrouble) {
      assert(pipelines !== undefined, "A node has a pipeline before it joins the cluster");
      const { runner, trouble, isWaitingForSandbox } = pipelines;
      const sources: AbilitySources = {
        partitions: () => ledgers.count(),
        access: () => ["events", "ledgers"].map((name) => accessOf(clients, group)(name, 0)),
        nodeTrouble: () => ledgers.diskTrouble() ?? catalog.trouble(),
        partitionTrouble(partition) {
          const isUnread = logs.isFailing(logNameOf(partition));
          const unread = isUnread ? `Partition ${partition} cannot be read` : undefined;
          return ledgers.troubleOf(partition) ?? unread ?? trouble(partition);
        },
        sandboxTrouble,
        isWaitingForSandbox,
      };
      membership = new Membership({
        clients,
        runner,
        group,
        topic: `${group}.events`,
        logger,
        self: { id: node, version, controlPlaneUrl },
        ability: () => partitionAbility(sources),
        sessionMs: 1_000 * config["cluster.session"],
      });
    },
    async leave() {
      await membership?.leave();
      questions.close();
    },
    checks: () => ({
      delivery: checkOf(ledgerHealth().trouble),
      cluster: clusterCheck(
        membership?.state(),
        running(),
        standing.missing(true)[0] ?? pipelines?.runner.failure() ?? reading().trouble,
      ),
    }),
    async nodes() {
      const [members, partitions] = await Promise.all([
        membership?.nodes().catch(() => undefined),
        ledgers.lags(),
      ]);
      return { name: group, node, ...(members && { nodes: members }), partitions };
    },
  };
}

/**
 * Starts to examine the cluster's topics regularly for settings that may lose data. `warnings` of
 * the result returns what the last examination found. `size` is the number of partitions of the
 * event log.
 */
function watchTopics(
  { logger, stack }: StartContext,
  admin: ReturnType<KafkaClients["admin"]>,
  topic: TopicOpeningOf,
  size: number,
) {
  const sizes = Object.entries({ catalog: 1, events: size, ledgers: size });
  const topics = sizes.map(([name, partitions]) => ({ ...topic(name), partitions }));
  const watch = monitorTopicSettings({ admin, logger, topics });
  stack.defer(() => watch.close());
  return watch;
}

/** Returns sentences about partitions that are assigned to this node and do not run on it. */
function describeStopped(stopped: readonly StoppedPartition[]): string[] {
  return [...Map.groupBy(stopped, ({ reason }) => reason)].map(([reason, of]) => {
    const numbers = nameNumbers(of.map(({ partition }) => partition));
    const which = of.length === 1 ? `Partition ${numbers} is` : `Partitions ${numbers} are`;
    return `${which} assigned to this node, but not running here: ${reason}`;
  });
}

/** Connects to the Kafka brokers. Throws `StartError` if all of them refuse this node. */
async function openClients(brokers: BrokerSettings, stack: AsyncDisposableStack) {
  const clients = await connectClients(brokers);
  stack.defer(() => clients.close());
  await awaitBrokers(clients);
  return clients;
}

/** Advice to the operator for a deleted topic whose contents every node has as a local copy. */
const RESTORE =
  "restore it, or stop all nodes, remove the directory `cluster` from the data directory of every node and start them, to begin with what the topics hold";

/** Topics of a cluster. Without an `isVital` one, the cluster accepts no changes or events. */
const TOPICS = [
  { name: "catalog", isVital: true, remedy: RESTORE },
  {
    name: "events",
    isVital: true,
    remedy: "restore it, or restart a node, which creates it without its undelivered events",
  },
  { name: "ledgers", isVital: true, remedy: RESTORE },
  {
    name: "figures",
    isVital: false,
    remedy:
      "remove the directory `cluster/figures` from the data directory of every node and restart them; the figures of the past are lost",
  },
  { name: "nodes", isVital: false, remedy: "restart a node, which creates it; nothing is lost" },
];

/**
 * Opens the catalog that the nodes of the cluster share, and waits until this node has read all
 * changes made before the call.
 */
async function openSharedCatalog(opening: StartContext, topic: TopicOpeningOf): Promise<Catalog> {
  const { config, requestStop } = opening;
  const ids = topicIds(config);
  // A node stores the id of the topic of ledgers when it first opens the ledgers. A node without
  // this id has therefore never been in the cluster.
  const isNewNode = ids.get(topic("ledgers").name) === undefined;
  const [order] = await openOrderedTopic({ ...topic("catalog"), partitions: 1, ids });
  const directory = clusterDirectory(config, "catalog");
  const storage = { directory, order: order!, onNewer: requestStop };
  const catalog = await openServedCatalog(opening, storage);
  if (isNewNode) expectSameToken(catalog, config);
  return catalog;
}

/**
 * Returns the result of the readiness check `cluster`. The check fails with the sentence in
 * `trouble` (about the node's membership) or `unread` (about unreadable data). A node without
 * partitions passes, because it accepts requests.
 */
function clusterCheck(
  { hasJoined, trouble }: Partial<MembershipState> = {},
  running: readonly number[],
  unread: string | undefined,
): Check {
  const known = trouble ?? unread;
  if (known !== undefined) return checkOf(known);
  if (!hasJoined) return { ok: true, message: "This node has not joined the others yet" };
  const which = running.length === 0 ? "no partition" : `partitions ${running.join(", ")}`;
  return { ok: true, message: `This node runs ${which}` };
}
