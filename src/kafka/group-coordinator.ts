import type { Admin, Base, Broker, Callback, Connection, Consumer } from "@platformatic/kafka";
import type { BrokerHealth } from "./broker-health.ts";
import type { ListedBroker } from "./cluster-view.ts";
import { interceptRequests, type KafkaLibrary, requestBroker, requestMetadata } from "./library.ts";

/** Broker that coordinates a consumer group. */
type Coordinator = Pick<ListedBroker, "nodeId" | "host" | "port">;

/** One broker's answer to the question which broker coordinates a consumer group. */
interface CoordinatorAnswer {
  coordinator: Coordinator;
  /**
   * Sum of the leader epochs that the answering broker reports for the partitions of
   * `GROUPS_TOPIC`. An epoch rises with each new leader, so the broker with the largest sum knows
   * the newest leaders.
   */
  epochs: number;
}

/**
 * Returns the broker that most answers name as the group's coordinator; undefined if there are no
 * answers. Only the answers with the largest `epochs` count, because the brokers that sent them
 * know the newest leaders.
 */
export function coordinatorInOffice(
  answers: readonly CoordinatorAnswer[],
): Coordinator | undefined {
  const newest = Math.max(...answers.map(({ epochs }) => epochs));
  const believed = answers.filter(({ epochs }) => epochs === newest);
  const votes = Map.groupBy(believed, ({ coordinator }) => coordinator.nodeId);
  const [first] = [...votes].sort(
    ([one, its], [other, others]) => others.length - its.length || one - other,
  );
  return first?.[1][0]?.coordinator;
}

/**
 * Milliseconds between two checks whether a group member uses the right coordinator. A check asks
 * the brokers only while one of them is outdated (see `OutdatedBroker`).
 */
const CHECK_MS = 2_000;
/**
 * Kafka's topic that stores the states of consumer groups. The state of each group is in one
 * partition of this topic, and the leader of that partition is the group's coordinator.
 */
const GROUPS_TOPIC = "__consumer_offsets";
const GROUP_KEY_TYPE = 0;

/** Names of the requests that a group member sends to its coordinator. */
const GROUP_REQUESTS = new Set(["JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"]);

/**
 * Makes a client ask all brokers which broker coordinates a group, and use the answers of the
 * brokers that know the newest leaders. By default, the Kafka library asks one broker, which may be
 * a former coordinator that names itself.
 */
export function askAllForCoordinator(
  kafka: KafkaLibrary,
  client: Admin | Consumer,
  brokers: Pick<BrokerHealth, "askEach">,
): void {
  interceptRequests(kafka, client, new Set(["FindCoordinator"]), (api, args, answer) => {
    const [, type, keys] = args as [Connection, number, string[]];
    const [key] = keys as [string];
    const isGroup = type === GROUP_KEY_TYPE && keys.length === 1;
    const found = isGroup ? findCoordinator(kafka, key, brokers) : Promise.resolve(undefined);
    void found
      .catch(() => undefined)
      .then((coordinator) => {
        if (coordinator === undefined) api(...args, answer);
        else answer(null, { coordinators: [{ key, ...coordinator }] });
      });
  });
}

async function findCoordinator(
  kafka: KafkaLibrary,
  group: string,
  brokers: Pick<BrokerHealth, "askEach">,
): Promise<Coordinator | undefined> {
  const named = await brokers.askEach((broker) => coordinatorAt(kafka, broker, group));
  if (new Set(named.map(({ nodeId }) => nodeId)).size <= 1) return named[0];
  const answers = await brokers.askEach(async (broker) => ({
    coordinator: await coordinatorAt(kafka, broker, group),
    epochs: await epochsAt(kafka, broker),
  }));
  return coordinatorInOffice(answers);
}

/**
 * Makes a group member use the group's present coordinator. By default, the Kafka library keeps a
 * coordinator as long as it can connect to it, even if the cluster has removed that broker. Returns
 * a function that ends the regular checks.
 */
export function followCoordinator(
  kafka: KafkaLibrary,
  consumer: Consumer,
  group: string,
  brokers: Pick<BrokerHealth, "askEach" | "view">,
): () => void {
  askAllForCoordinator(kafka, consumer, brokers);
  const getConnection = consumer[kafka.kGetConnection].bind(consumer);
  /** Whether the member must ask for the coordinator again before its next request. */
  let isDoubted = false;

  interceptRequests(kafka, consumer, GROUP_REQUESTS, (api, args, answer) => {
    api(...args, (error: Error | null, result?: unknown) => {
      if (error && !isDecided(error)) isDoubted = true;
      answer(error, result);
    });
  });
  consumer[kafka.kGetConnection] = (broker: Broker | undefined, callback: Callback<Connection>) => {
    if (broker !== undefined && !isDoubted) {
      getConnection(broker, callback);
      return;
    }
    isDoubted = false;
    if (broker === undefined) consumer.clearMetadata();
    // The library asks for the coordinator again after this error, unless it reports that the list
    // of brokers is out of date.
    const message = `The coordinator of the group ${group} must be found again`;
    callback(new kafka.NetworkError(message, { canRetry: true }));
  };

  const check = setInterval(() => {
    const known = consumer.coordinatorId;
    if (known === null || !consumer.isActive()) return;
    // A replaced coordinator answers requests only while it is cut off from the other brokers. Then
    // it is outdated.
    if (brokers.view.outdated().length === 0) return;
    void findCoordinator(kafka, group, brokers).then((found) => {
      if (found !== undefined && found.nodeId !== known) isDoubted = true;
    });
  }, CHECK_MS);
  return () => clearInterval(check);
}

/**
 * Whether a request failed because the coordinator requires that the member rejoin the group. Such
 * a failure gives no reason to look for another coordinator.
 */
function isDecided(error: Error): boolean {
  return "findBy" in error && Boolean((error as Found).findBy("needsRejoin", true));
}

interface Found extends Error {
  findBy(property: string, value: unknown): unknown;
}

/** Asks one broker for the group's coordinator. Returns the coordinator's id, host and port. */
async function coordinatorAt(
  kafka: KafkaLibrary,
  broker: Base,
  group: string,
): Promise<Coordinator> {
  const args = [GROUP_KEY_TYPE, [group]];
  const answer = await requestBroker<Coordinators>(kafka, broker, "FindCoordinator", args);
  const { nodeId, host, port } = answer.coordinators[0]!;
  return { nodeId, host, port };
}

interface Coordinators {
  coordinators: Coordinator[];
}

/**
 * Asks a broker for the leader epochs of the partitions of `GROUPS_TOPIC`. Returns their sum; 0 if
 * the broker does not know the topic.
 */
async function epochsAt(kafka: KafkaLibrary, broker: Base): Promise<number> {
  const { topics } = await requestMetadata(kafka, broker, [GROUPS_TOPIC]);
  const epochs = topics.flatMap(({ partitions }) => partitions.map((it) => it.leaderEpoch));
  return epochs.reduce((sum, epoch) => sum + epoch, 0);
}
