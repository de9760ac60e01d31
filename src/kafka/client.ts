import type { Admin, ConnectionPool, Consumer, GroupOptions, Producer } from "@platformatic/kafka";
import { monitorBrokers } from "./broker-health.ts";
import { createProduceClient, type ProduceClient } from "./produce-client.ts";

/** Addresses, encryption and credentials for connections to the brokers. */
export interface BrokerSettings {
  /** `host:port` of some brokers of the cluster; these list the others. */
  brokers: readonly string[];
  /** Uses TLS and checks broker certificates, against the PEM certificates in `ca` if given. */
  tls?: { ca?: string };
  sasl?: { mechanism: "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512"; user: string; password: string };
}

/** Timeout of one request to a broker in milliseconds. */
const REQUEST_MS_MAX = 5_000;
/** Attempts of a request; with the pauses, they last until a failed leader is replaced. */
const ATTEMPTS = 20;
/** Pause between two attempts in milliseconds. */
const RETRY_MS = 250;
/** Age in milliseconds at which the library requests the partition leaders again. */
const METADATA_MS_MAX = 5_000;

/** Creates clients that share broker settings and one broker health monitor. */
export interface KafkaClients {
  admin(): Admin;
  /** Creates a client that writes batches, each acknowledged by all in-sync replicas. */
  producer(): ProduceClient;
  /** Creates a consumer without a group, which does not retry failed requests. */
  fetchConsumer(): Consumer;
  /** Creates a consumer that joins a group and does not fetch. */
  groupConsumer(options: GroupConsumerOptions): Consumer;
  /** Sorted addresses of brokers that do not answer at the moment. */
  unresponsiveBrokers(): string[];
  /** Whether `close` has not been called yet. */
  isOpen(): boolean;
  /** Closes all clients that were created here. */
  close(): Promise<void>;
}

export type GroupConsumerOptions = GroupOptions & { groupId: string };

/**
 * Loads the Kafka library and starts monitoring the brokers. Loading takes 76 MB of memory and a
 * third of a second, so only servers of a cluster call this.
 */
export async function connectClients(settings: BrokerSettings): Promise<KafkaClients> {
  const kafka = await import("@platformatic/kafka");
  const { Admin, ConnectionPool, Consumer, Producer } = kafka;
  const options = libraryOptions(settings);
  const roll = monitorBrokers(kafka, options);
  let isOpen = true;
  const ends = [() => roll.close()];
  const keep = <T extends Admin | Consumer | Producer>(client: T, close: () => Promise<void>) => {
    roll.routeConnections(client);
    acceptLeaderlessPartitions(kafka, client);
    ends.push(close);
    return client;
  };
  const consume = (more: object & { groupId: string }) => {
    const consumer: Consumer = new Consumer({ ...options, ...more });
    return keep(consumer, () => consumer.close(true));
  };
  return {
    admin() {
      const admin = new Admin(options);
      return keep(admin, () => admin.close());
    },
    producer() {
      const producer: Producer = new Producer(options);
      keep(producer, () => producer.close(true));
      return createProduceClient(kafka, producer, REQUEST_MS_MAX);
    },
    fetchConsumer() {
      const fetching = new ConnectionPool(CLIENT_ID, options);
      roll.routeConnections({ connections: fetching });
      ends.push(() => fetching.close());
      return fetchOver(fetching, consume({ ...FETCH_OPTIONS, groupId: CLIENT_ID }));
    },
    groupConsumer: (group) => consume({ ...GROUP_OPTIONS, ...group }),
    unresponsiveBrokers: () => roll.unresponsive(),
    isOpen: () => isOpen,
    async close() {
      isOpen = false;
      await Promise.allSettled(ends.map((end) => end()));
    },
  };
}

const CLIENT_ID = "pixelmill";
/** No retries: the library would ask the same broker again, even when it no longer leads. */
const FETCH_OPTIONS = { retries: 0, autocommit: false };

/**
 * Options of a group member. With the cooperative protocol a member stops a revoked partition
 * before another member gets it. The caller retries a failed join.
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
    retries: ATTEMPTS,
    retryDelay: RETRY_MS,
    metadataMaxAge: METADATA_MS_MAX,
    // An environment variable could otherwise disable the check of certificates.
    ...(tls && { tls: { ...tls, rejectUnauthorized: true } }),
    ...(sasl && {
      sasl: { mechanism: sasl.mechanism, username: sasl.user, password: sasl.password },
    }),
  };
}

type Kafka = typeof import("@platformatic/kafka");
type GetApi = (name: string, callback: (error: Error | null, api?: MetadataApi) => void) => void;
type MetadataApi = ((...all: unknown[]) => void) & { key: number; version: number };

/**
 * Makes a consumer use a separate connection pool for fetches. A broker answers the requests of a
 * connection in order. On a shared connection a metadata request would wait behind a fetch that the
 * broker holds until there is a new value.
 */
function fetchOver(connectionPool: ConnectionPool, consumer: Consumer): Consumer {
  const fetch: Fetch = consumer.fetch.bind(consumer);
  const fetchApart: Fetch = (request) => fetch({ ...request, connectionPool });
  return Object.assign(consumer, { fetch: fetchApart });
}

type Fetch = (request: Parameters<Consumer["fetch"]>[0]) => ReturnType<Consumer["fetch"]>;

/**
 * Makes a client accept metadata in which a partition has no leader. The library would treat this
 * as a failure of the whole request, and could then not use the topic's other partitions either.
 */
function acceptLeaderlessPartitions({ kGetApi }: Kafka, client: Admin | Consumer | Producer): void {
  const known = client as unknown as Record<typeof kGetApi, GetApi>;
  const getApi = known[kGetApi]!;
  known[kGetApi] = (name, callback) => {
    getApi.call(client, name, (error, api) => {
      callback(error, api && name === "Metadata" ? withoutLeaders(api) : api);
    });
  };
}

function withoutLeaders(api: MetadataApi): MetadataApi {
  const asked = (...all: unknown[]) => {
    const answer = all.pop() as (error: unknown, response?: unknown) => void;
    api(...all, (error: unknown, response?: unknown) => {
      const { errors = [], response: partial } = (error ?? {}) as LeaderlessError;
      const isWhole = errors.length > 0 && errors.every((it) => LEADERLESS.has(it.apiCode ?? 0));
      if (isWhole) answer(null, partial);
      else answer(error, response);
    });
  };
  return Object.assign(asked, { key: api.key, version: api.version });
}

interface LeaderlessError {
  errors?: { apiCode?: number }[];
  response?: unknown;
}

/** Kafka's error codes for a partition without a leader and for a missing replica. */
const LEADERLESS = new Set([5, 9]);
