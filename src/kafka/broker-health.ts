import type { Base, BaseOptions, Broker, Connection, ConnectionPool } from "@platformatic/kafka";

/** Which brokers answer, as one process sees it. */
export interface BrokerHealth {
  /** Has the client ask brokers that answer, and leave those that the others have given up. */
  routeConnections(client: Pick<Base, "connections">): void;
  /** Addresses of brokers that do not answer, of those that are asked all the time. */
  unresponsive(): string[];
  close(): Promise<void>;
}

type Kafka = typeof import("@platformatic/kafka");
type Callback = (error: Error | null, connection?: Connection) => void;

/** Pause after a successful probe. */
const PROBE_MS = 1_000;
/** Pause after a failed probe. */
const RETRY_MS = 250;
/** A broker that says nothing for so long is asked last. */
const UNRESPONSIVE_MS = 1_000;
/** Brokers that are asked again and again: those of the settings, and some that these name. */
const PROBED_MAX = 5;

interface ProbedBroker {
  address: string;
  asker: Base;
  /** Since when an answer is waited for. */
  since: number | undefined;
  /** The last question that came to an end was answered. */
  answered: boolean;
}

/**
 * A broker may take connections and requests and never answer, as a process that is stopped does.
 * The library then waits a whole time-out, at each client, and begins with the same broker the next
 * time. So a few brokers are asked all the time who is there. What any broker can answer goes to
 * one that does; and once the others no longer name a broker, which is when they have given its
 * partitions away, requests that wait for it are broken off and none is sent to it.
 */
export function monitorBrokers(kafka: Kafka, options: BaseOptions): BrokerHealth {
  return new BrokerMonitor(kafka, options);
}

class BrokerMonitor implements BrokerHealth {
  readonly #kafka: Kafka;
  readonly #options: BaseOptions;
  readonly #asked = new Map<string, ProbedBroker>();
  readonly #guided: ConnectionPool[] = [];
  /** Every address that brokers have named, and those that were named last. */
  readonly #named = new Set<string>();
  #present: ReadonlySet<string> = new Set();
  /** Resolves when a broker has answered, or none can be reached. */
  readonly #heard = Promise.withResolvers<void>();
  readonly #closed = Promise.withResolvers<void>();
  #isOpen = true;

  constructor(kafka: Kafka, options: BaseOptions) {
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
    // Others that it names are not asked in its place.
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

  /** A broker that answers may not have been heard of by the others yet. */
  #isGone(address: string): boolean {
    return this.#named.has(address) && !this.#present.has(address) && !this.#answers(address);
  }

  #gone({ host, port }: Broker): Error {
    const message = `The brokers do not know of ${host}:${port} any more`;
    return new this.#kafka.NetworkError(message, { canRetry: true, hasStaleMetadata: true });
  }

  /** Sorts responsive brokers first. */
  #inOrder(brokers: Broker[]): Broker[] {
    const rank = (broker: Broker) => (this.#answers(addressOf(broker)) ? 0 : 1);
    return brokers.toSorted((a, b) => rank(a) - rank(b));
  }
}

/** Key of a connection, in which an IPv6 address has no brackets. */
const addressOf = (broker: Broker | string) =>
  typeof broker === "string" ? broker.replaceAll(/[[\]]/g, "") : `${broker.host}:${broker.port}`;
