import { hostname } from "node:os";
import type { Catalog } from "../catalog/catalog.ts";
import { openCatalog } from "../catalog/open.ts";
import { createAudience } from "../cluster/audience.ts";
import { type Clients, connectClients } from "../cluster/client.ts";
import { openExchange } from "../cluster/exchange.ts";
import { joinMembers, type Membership } from "../cluster/members.ts";
import { showCluster } from "../cluster/metrics.ts";
import { openOrderedTopic } from "../cluster/ordered-log.ts";
import { createQuestions } from "../cluster/questions.ts";
import { watchStanding } from "../cluster/standing.ts";
import { openTopicLogs } from "../cluster/topic-logs.ts";
import { watchTopics } from "../cluster/topic-watch.ts";
import { sourceOfRecord } from "../event/record.ts";
import { clusterDirectory, expectNoOwnData, topicIds } from "../first-start/data-directory.ts";
import type { TailMessage } from "../pipeline/live-tail.ts";
import { createPipelineHost } from "../pipeline/pipeline.ts";
import type { RetentionBounds } from "../pipeline/retention/retention.ts";
import { version } from "../version.ts";
import type { Backend, Check, StartContext } from "./backend.ts";
import { brokersOf } from "./broker-settings.ts";
import { Shares } from "./shares.ts";

/** The ground of a node: topics that all nodes of a cluster write and read. */
export async function openCluster(opening: StartContext): Promise<Backend> {
  const { config, logger, metrics, stack } = opening;
  expectNoOwnData(config);
  const brokers = brokersOf(config);
  const clients = await connectClients(brokers);
  stack.defer(() => clients.close());
  const group = config["cluster.name"];
  const replicas = config["cluster.replicas"];
  const topic = (name: string) => ({ clients, topic: `${group}.${name}`, replicas, logger });

  const catalog = await openSharedCatalog(opening, clients);
  const logs = await openTopicLogs({
    ...{ clients, brokers, logger, metrics },
    topic: { name: `${group}.events`, partitions: config["cluster.partitions"], replicas },
    sourceOf: sourceOfRecord,
  });
  stack.defer(() => logs.close());
  const node = `${hostname()}-${crypto.randomUUID().slice(0, 8)}`;
  const shares = await Shares.open({
    ...{ ...topic("ledgers"), config, live: catalog.live, logs, node, onNewer: opening.giveUp },
  });
  stack.defer(() => shares.end());
  const exchange = await openExchange(topic("nodes"));
  stack.defer(() => exchange.close());
  const questions = createQuestions({ exchange, node, expected: () => shares.owners() });
  stack.defer(() => questions.close());
  const audience = createAudience<TailMessage>(exchange);
  stack.defer(() => audience.close());

  const named = (name: string, partitions: number) => ({
    name: `${group}.${name}`,
    partitions,
    replicas,
  });
  const watch = watchTopics({
    ...{ admin: clients.admin(), logger },
    topics: [
      named("catalog", 1),
      named("events", logs.readers.size),
      named("ledgers", logs.readers.size),
    ],
  });
  stack.defer(() => watch.close());

  const standing = watchStanding({
    clients,
    topics: () =>
      ["catalog", "events", "ledgers", "nodes"].map((name) => named(name, logs.readers.size)),
  });
  stack.defer(() => standing.close());
  showCluster(metrics, {
    partitions: () => shares.running(),
    troubles: () => standing.troubles().length,
  });

  let membership: Membership | undefined;
  return {
    warnings: () => [...standing.troubles(), ...watch.faults()],
    ...{ catalog, logs, others: questions },
    catalogDirectory: clusterDirectory(config, "catalog"),
    run(work) {
      const lines = createPipelineHost({
        ...work,
        ...{ live: catalog.live, readers: logs.readers, audience, logger, metrics },
        onDurable: (listener) => logs.onDurable(listener),
        logEnds: () => logs.ends(),
        ledgers: () => shares.ledgers(),
        retentionBounds: ofEach(work.retentionBounds, logs.readers.size),
      });
      shares.run(lines);
      return lines;
    },
    join(controlPlaneUrl) {
      membership = joinMembers({
        ...{ clients, group, logger, topic: `${group}.events` },
        self: { id: node, version, controlPlaneUrl },
        sessionMs: 1_000 * config["cluster.session"],
        onAssigned: (partition) => shares.take(partition),
        onRevoked: (partition) => shares.give(partition),
      });
    },
    async leave() {
      await membership?.leave();
      questions.close();
    },
    checks: () => ({ cluster: checkOf(membership, logs.trouble() ?? shares.trouble()) }),
    async nodes() {
      const [members, partitions] = await Promise.all([
        membership?.members().catch(() => undefined),
        shares.lags(),
      ]);
      return { name: group, node, ...(members && { nodes: members }), partitions };
    },
  };
}

/** Bounds of one partition's log, so that all together keep to these. */
function ofEach(bounds: RetentionBounds | undefined, partitions: number): RetentionBounds {
  const { ageMsMax = 0, bytesMax = 0 } = bounds ?? {};
  return { ageMsMax, bytesMax: Math.ceil(bytesMax / partitions) };
}

/** Resolves once all that was changed before can be read here. */
async function openSharedCatalog(
  { config, logger, stack, giveUp }: StartContext,
  clients: Clients,
): Promise<Catalog> {
  const [order] = await openOrderedTopic({
    ...{ clients, logger, partitions: 1, replicas: config["cluster.replicas"] },
    ids: topicIds(config),
    name: `${config["cluster.name"]}.catalog`,
  });
  const directory = clusterDirectory(config, "catalog");
  const catalog = await openCatalog({ directory, logger, order: order!, onNewer: giveUp });
  stack.defer(() => catalog.close());
  await catalog.current();
  return catalog;
}

function checkOf(membership: Membership | undefined, unread: string | undefined): Check {
  const { isMember = false, partitions = [], trouble = unread } = membership?.state() ?? {};
  if (trouble !== undefined) return { ok: false, message: trouble };
  if (!isMember) return { ok: false, message: "This node has not joined the others yet" };
  const which = partitions.length === 0 ? "no partition" : `partitions ${partitions.join(", ")}`;
  return { ok: true, message: `This node runs ${which}` };
}
