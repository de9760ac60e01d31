import type { Admin, ConnectionPool, Consumer, GroupOptions, Producer } from "@platformatic/kafka";
import { BrokerHealth } from "./broker-health.ts";
import type { ClusterView } from "./cluster-view.ts";
import { askAllForCoordinator, followCoordinator } from "./group-coordinator.ts";
import { interceptRequests, type KafkaLibrary, loadKafkaLibrary } from "./library.ts";
import { BrokerClock, createProduceClient } from "./produce-client.ts";
import type { Compression } from "./record-batch.ts";
import { leaveOutForeignTopics, useClusterView } from "./view-metadata.ts";

/** Addresses, encryption and credentials for connections to the brokers. */
export interface BrokerSettings {
  /** Addresses (`host:port`) of at least one broker, which reports those of all other brokers. */
  brokers: readonly string[];
  /**
   * TLS settings. If absent, connections have no TLS. `ca` has the PEM certificates against which
   * broker certificates are checked. If `ca` is absent, the system's certificates are used.
   */
  tls?: { ca?: string };
  sasl?: { mechanism: "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512"; user: string; password: string };
}

/** Timeout in milliseconds of one request to a broker. */
export const REQUEST_MS_MAX = 5_000;
/**
 * Maximum number of times that a failed request is sent again. All attempts, with the pauses
 * between them, take longer than the cluster needs to replace a failed leader of a partition.
 */
const RETRIES_MAX = 20;
/** Pause in milliseconds between two attempts of a request. */
const RETRY_MS = 250;

/** Creator of Kafka clients that share the broker settings and one monitor of the brokers. */
export type KafkaClients = Awaited<ReturnType<typeof connectClients>>;

/** View of the cluster, merged from the metadata answers of the brokers. */
type SharedView = Pick<
  ClusterView,
  "nameOf" | "wasListed" | "addressOfBroker" | "topic" | "brokers" | "isEmpty" | "clusterId"
>;

type GroupConsumerOptions = GroupOptions & { groupId: string };

/**
 * Loads the Kafka library and starts to monitor the brokers. Only cluster servers call this,
 * because loading takes 76 MB of memory and 0.3 seconds.
 */
export async function connectClients(settings: BrokerSettings) {
  const kafka = await loadKafkaLibrary();
  const { Admin, ConnectionPool, Consumer, Producer } = kafka;
  const options = libraryOptions(settings);
  const health = new BrokerHealth(kafka, options);
  const clock = new BrokerClock();
  let isOpen = true;
  const ends = [() => health.close()];
  const keep = <T extends Admin | Consumer | Producer>(client: T, close: () => Promise<void>) => {
    health.routeConnections(client);
    useClusterView(kafka, client, health);
    ends.push(close);
    return client;
  };
  const consume = (more: object & { groupId: string }) => {
    const consumer: Consumer = new Consumer({ ...options, ...more });
    return keep(consumer, () => consumer.close(true));
  };
  return {
    admin(): Admin {
      const admin = new Admin(options);
      acceptLeaderlessPartitions(kafka, admin);
      askAllForCoordinator(kafka, admin, health);
      return keep(admin, () => admin.close());
    },
    /**
     * Creates a client that writes batches of records, compressed with `compression`. A batch is
     * acknowledged once all in-sync replicas have it.
     */
    producer(compression: Compression = "none") {
      const producer: Producer = new Producer(options);
      keep(producer, () => producer.close(true));
      const produceOptions = { view: health.view, waitMs: REQUEST_MS_MAX, compression, clock };
      return createProduceClient(kafka, producer, produceOptions);
    },
    /** Creates a consumer that belongs to no consumer group. It does not retry failed requests. */
    fetchConsumer() {
      const fetching = new ConnectionPool(CLIENT_ID, options);
      health.routeConnections({ connections: fetching });
      ends.push(() => fetching.close());
      return fetchOver(fetching, consume({ ...FETCH_OPTIONS, groupId: CLIENT_ID }));
    },
    /** Creates a consumer that is a member of a consumer group but does not fetch records. */
    groupConsumer(group: GroupConsumerOptions) {
      const consumer = consume({ ...GROUP_OPTIONS, ...group });
      leaveOutForeignTopics(kafka, consumer);
      const stop = followCoordinator(kafka, consumer, group.groupId, health);
      ends.push(async () => stop());
      return consumer;
    },
    /**
     * Returns the sorted addresses of the brokers that do not answer at present. With `silentMs`,
     * returns only those that have not answered for that many milliseconds.
     */
    unresponsiveBrokers: (silentMs?: number) => health.unresponsive(silentMs),
    /**
     * Returns the outdated brokers: they answer, but name former partition leaders, or the other
     * brokers do not list them. After a change of a leader, a broker is outdated only for a moment.
     */
    outdatedBrokers: () => health.view.outdated(),
    /**
     * Returns the brokers that belong to another Kafka cluster than that of the first broker that
     * answered.
     */
    foreignBrokers: () => health.view.foreign(),
    /**
     * Returns by how many milliseconds this process's clock certainly differs from the brokers'
     * clocks: positive if ahead, negative if behind. Returns undefined if no broker has reported
     * its time recently.
     */
    clockErrorMs: () => clock.errorMs(),
    view: health.view as SharedView,
    /** Returns the result of each broker's last completed probe; see `BrokerHealth.lastProbes`. */
    lastProbes: () => health.lastProbes(),
    /** Whether the clients can be used: true until `close` is called. */
    isOpen: () => isOpen,
    /** Closes all clients that this object has created. */
    async close() {
      isOpen = false;
      await Promise.allSettled(ends.map((end) => end()));
    },
  };
}

const CLIENT_ID = "pixelmill";
/**
 * Options of consumers that fetch. Such consumers do not retry: the Kafka library would send a
 * retry to the same broker, even if that broker has lost the leadership of the partition.
 */
const FETCH_OPTIONS = { retries: 0, autocommit: false };

/**
 * Options of consumers that are members of a group. `retries` is low, because `Membership` joins
 * the group again after an error. With `cooperative-sticky`, a member gives up a partition before
 * another member gets it.
 */
const GROUP_OPTIONS = {
  // The broker delays the response to a join until all members have joined.
  requestTimeout: 30_000,
  retries: 3,
  autocommit: false,
  protocols: [{ name: "cooperative-sticky", version: 3 }],
};

function libraryOptions({ brokers, tls, sasl }: BrokerSettings) {
  return {
    clientId: CLIENT_ID,
    bootstrapBrokers: [...brokers],
    timeout: REQUEST_MS_MAX,
    // When a broker hangs, the request times out and is sent to the next leader.
    requestTimeout: 2 * REQUEST_MS_MAX,
    connectTimeout: REQUEST_MS_MAX,
    retries: RETRIES_MAX,
    retryDelay: RETRY_MS,
    // An environment variable could otherwise disable the check of certificates.
    ...(tls && { tls: { ...tls, rejectUnauthorized: true } }),
    ...(sasl && {
      sasl: { mechanism: sasl.mechanism, username: sasl.user, password: sasl.password },
    }),
  };
}

/**
 * Makes a consumer fetch over a separate connection pool. On a shared connection, a fetch would
 * delay other requests by up to its wait time, because a broker answers the requests of one
 * connection in order.
 */
function fetchOver(connectionPool: ConnectionPool, consumer: Consumer): Consumer {
  const fetch: Fetch = consumer.fetch.bind(consumer);
  const fetchApart: Fetch = (request) => fetch({ ...request, connectionPool });
  return Object.assign(consumer, { fetch: fetchApart });
}

type Fetch = (request: Parameters<Consumer["fetch"]>[0]) => ReturnType<Consumer["fetch"]>;

/**
 * Makes a client accept a metadata answer about all topics even if a partition has no leader or
 * lacks a replica. Without this function, the Kafka library fails the whole request.
 */
export function acceptLeaderlessPartitions(
  kafka: Pick<KafkaLibrary, "kGetApi">,
  client: Admin,
): void {
  interceptRequests(kafka, client, new Set(["Metadata"]), (api, args, answer) => {
    api(...args, (error: Error | null, response: unknown) => {
      const { errors = [], response: partial } = (error ?? {}) as LeaderlessError;
      const isWhole = errors.length > 0 && errors.every((it) => LEADERLESS.has(it.apiCode));
      if (isWhole) answer(null, partial);
      else answer(error, response);
    });
  });
}

interface LeaderlessError {
  errors?: { apiCode?: number }[];
  response?: unknown;
}

/** Kafka's error codes for a partition without a leader (5) and with a missing replica (9). */
const LEADERLESS = new Set<number | undefined>([5, 9]);
