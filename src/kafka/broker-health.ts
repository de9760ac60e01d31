import type { Base, BaseOptions, Broker, Connection, ConnectionPool } from "@platformatic/kafka";
import type { KafkaLibrary } from "./library.ts";

/** Tracks which brokers answer the requests of this process. */
export interface BrokerHealth {
  /**
   * Changes a client's connection pool in two ways. Requests that any broker can answer go to a
   * broker that responds. New connections to a broker that has left the cluster fail at once.
   */
  routeConnections(client: Pick<Base, "connections">): void;
  /** Returns the sorted addresses of the probed brokers that do not answer at present. */
  unresponsive(): string[];
  close(): Promise<void>;
}

type Callback = (error: Error | null, connection?: Connection) => void;

/** Pause in milliseconds after a successful probe of a broker. */
const PROBE_MS = 1_000;
/** Pause in milliseconds after a failed probe of a broker. */
const RETRY_MS = 250;
/**
 * Time in milliseconds without an answer to a probe after which a broker counts as unresponsive.
 */
const UNRESPONSIVE_MS = 1_000;
/**
 * Largest number of brokers that are probed. Brokers in the settings come first, then others in the
 * cluster.
 */
const PROBED_MAX = 5;

interface ProbedBroker {
  address: string;
  asker: Base;
  /** Start of the probe in flight, by `performance.now()`. Undefined while none is in flight. */
  since: number | undefined;
  /** Whether the broker answered the last completed probe. */
  answered: boolean;
}

/**
 * Probes up to `PROBED_MAX` brokers by requesting the list of brokers. Requests that any broker can
 * answer then go to a broker that responds. A broker whose process hangs accepts requests but never
 * answers them; without probes, each client would wait for its timeout and ask the same broker
 * again. When the lists no longer contain a broker that does not answer, the cluster has moved that
 * broker's partitions. The connections to that broker are then closed, and no new ones are made.
 */
export function monitorBrokers(kafka: KafkaLibrary, options: BaseOptions): BrokerHealth {
  return new BrokerMonitor(kafka, options);
}

class BrokerMonitor implements BrokerHealth {
  readonly #kafka: KafkaLibrary;
  readonly #options: BaseOptions;
  readonly #asked = new Map<string, ProbedBroker>();
  readonly #guided: ConnectionPool[] = [];
  /** Addresses of all brokers that any list of brokers has contained so far. */
  readonly #named = new Set<string>();
  /** Addresses of the brokers in the most recent list. */
  #present: ReadonlySet<string> = new Set();
  /**
   * Promise that resolves when the first broker has answered, or when all brokers have failed their
   * first probe.
   */
  readonly #heard = Promise.withResolvers<void>();
  readonly #closed = Promise.withResolvers<void>();
  #isOpen = true;

  constructor(kafka: KafkaLibrary, options: BaseOptions) {
    this.#kafka = kafka;
    this.#options = options;
    for (const broker of options.bootstrapBrokers) this.#ask(broker);
  }

  routeConnections({ connections }: Pick<Base, "connections">): void {
    const get = connections.get.bind(connections);
    const getFirst = connections.getFirstAvailable.bind(connections);
    const reach = (broker: Broker, callback: Callback) => {
      if (broker && this.#isGone(addressOf(broker))) callback(this.#gone(broker));
      else get(broker, callback);
    };
    const reachFirst = (brokers: Broker[], callback: Callback) => {
      void this.#heard.promise.then(() => getFirst(this.#inOrder(brokers), callback));
    };
    Object.assign(connections, { get: reach, getFirstAvailable: reachFirst });
    this.#guided.push(connections);
  }

  unresponsive(): string[] {
    const addresses = [...this.#asked.keys()].sort();
    return addresses.filter((address) => !this.#answers(address));
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    this.#closed.resolve();
    await Promise.allSettled(this.#asked.values().map(({ asker }) => asker.close()));
  }

  #ask(broker: Broker | string): void {
    const address = addressOf(broker);
    if (this.#asked.size >= PROBED_MAX || this.#asked.has(address)) return;
    const { Base } = this.#kafka;
    const asker = new Base({
      ...this.#options,
      bootstrapBrokers: [broker] as string[],
      retries: 0,
    });
    const { connections } = asker;
    // The client must ask this broker only, not another one that it lists.
    const getFirstAvailable = ([own]: Broker[], callback: Callback) => {
      connections.get(own!, callback);
    };
    Object.assign(connections, { getFirstAvailable });
    const asked: ProbedBroker = { address, asker, since: undefined, answered: false };
    this.#asked.set(address, asked);
    void this.#keepAsking(asked);
  }

  async #keepAsking(asked: ProbedBroker): Promise<void> {
    while (this.#isOpen) {
      asked.since = performance.now();
      try {
        const { brokers } = await asked.asker.metadata({ topics: [], forceUpdate: true });
        asked.answered = true;
        this.#take([...brokers.values()]);
      } catch {
        asked.answered = false;
      }
      asked.since = undefined;
      if (asked.answered || !this.#isAnyAwaited()) this.#heard.resolve();
      const pause = Bun.sleep(asked.answered ? PROBE_MS : RETRY_MS);
      await Promise.race([pause, this.#closed.promise]);
    }
  }

  #take(named: Broker[]): void {
    this.#present = new Set(named.map(addressOf));
    for (const broker of named) {
      this.#named.add(addressOf(broker));
      this.#ask(broker);
    }
    for (const connections of this.#guided) {
      for (const [address, connection] of connections) {
        if (this.#isGone(address)) connection.socket.destroy();
      }
    }
  }

  #isAnyAwaited(): boolean {
    return this.#asked.values().some(({ since }) => since !== undefined);
  }

  #answers(address: string): boolean {
    const { answered = false, since = Infinity } = this.#asked.get(address) ?? {};
    return answered && performance.now() - since < UNRESPONSIVE_MS;
  }

  /**
   * Whether a broker has left the cluster. A broker that responds has not left, even if the last
   * list lacks it: other brokers may not know a new broker yet.
   */
  #isGone(address: string): boolean {
    return this.#named.has(address) && !this.#present.has(address) && !this.#answers(address);
  }

  #gone({ host, port }: Broker): Error {
    const message = `The brokers do not know of ${host}:${port} any more`;
    return new this.#kafka.NetworkError(message, { canRetry: true, hasStaleMetadata: true });
  }

  /** Returns the brokers, those that respond first. */
  #inOrder(brokers: Broker[]): Broker[] {
    const rank = (broker: Broker) => (this.#answers(addressOf(broker)) ? 0 : 1);
    return brokers.toSorted((a, b) => rank(a) - rank(b));
  }
}

/**
 * Returns the key of a broker's connection in the Kafka library's pool: `host:port`, with an IPv6
 * host without brackets.
 */
const addressOf = (broker: Broker | string) =>
  typeof broker === "string" ? broker.replaceAll(/[[\]]/g, "") : `${broker.host}:${broker.port}`;
