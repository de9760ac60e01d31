import type { Admin, ConnectionPool, Consumer, GroupOptions, Producer } from "@platformatic/kafka";
import { monitorBrokers } from "./broker-health.ts";
import { createProduceClient, type ProduceClient } from "./produce-client.ts";

/** How to reach the brokers. */
export interface BrokerSettings {
  /** `host:port` of some of them; these name the rest. */
  brokers: readonly string[];
  /** Encrypted, and the broker proves who it is; with `ca`, certificates of these authorities. */
  tls?: { ca?: string };
  sasl?: { mechanism: "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512"; user: string; password: string };
}

/** Longest that one request to a broker takes. */
const REQUEST_MS_MAX = 5_000;
/** Attempts within which a failed leader is replaced. */
const ATTEMPTS = 20;
const RETRY_MS = 250;
/** How soon it is noticed that a partition has another leader. */
const METADATA_MS_MAX = 5_000;

export interface KafkaClients {
  admin(): Admin;
  /** Acknowledged by all replicas in sync, each record once and in order. */
  producer(): ProduceClient;
  /** A consumer without a group; its requests fail at the first error. */
  fetchConsumer(): Consumer;
  /** A consumer that joins a group and does not fetch. */
  groupConsumer(options: GroupConsumerOptions): Consumer;
  /** Addresses of brokers that do not answer at the moment. */
  unresponsiveBrokers(): string[];
  /** Until `close` is called. */
  isOpen(): boolean;
  /** Ends every client that was made. */
  close(): Promise<void>;
}

export type GroupConsumerOptions = GroupOptions & { groupId: string };

/**
 * Kafka's clients. The library takes 76 MB and a third of a second to load, so that only a server
 * of a cluster ever does.
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
/** The library asks the broker again that it asked before, also where another one leads. */
const FETCH_OPTIONS = { retries: 0, autocommit: false };

/**
 * A member is told what is taken from it before another is given it. Whoever uses it repeats what
 * fails.
 */
const GROUP_OPTIONS = {
  // One that joins is kept waiting for the others.
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
    // A broker that takes a request and stands still is left for the one that leads after it.
    requestTimeout: 2 * REQUEST_MS_MAX,
    connectTimeout: REQUEST_MS_MAX,
    retries: ATTEMPTS,
    retryDelay: RETRY_MS,
    metadataMaxAge: METADATA_MS_MAX,
    // Without this, an environment variable could switch the check off.
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
 * Has a consumer fetch over these connections alone. A broker answers the requests of a connection
 * one after the other: the question who leads which partition, asked every few seconds, would be
 * answered when the fetch before it ends, which waits for something to come; and nothing is fetched
 * meanwhile.
 */
function fetchOver(connectionPool: ConnectionPool, consumer: Consumer): Consumer {
  const fetch: Fetch = consumer.fetch.bind(consumer);
  const fetchApart: Fetch = (request) => fetch({ ...request, connectionPool });
  return Object.assign(consumer, { fetch: fetchApart });
}

type Fetch = (request: Parameters<Consumer["fetch"]>[0]) => ReturnType<Consumer["fetch"]>;

/**
 * Lets a client know a topic of which some partition has no leader at the moment. The library takes
 * the broker's word for such a partition as a failure of the whole question, and could then reach
 * none of the others either.
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

/** A partition has no leader; or a replica is not there. */
const LEADERLESS = new Set([5, 9]);
