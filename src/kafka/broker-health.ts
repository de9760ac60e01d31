import type {
  Base,
  BaseOptions,
  Broker,
  Callback,
  Connection,
  ConnectionPool,
} from "@platformatic/kafka";
import { OneTimeEvent } from "../concurrency/one-time-event.ts";
import { withTimeLimit } from "../concurrency/time-limit.ts";
import { addressOf, ClusterView } from "./cluster-view.ts";
import { type KafkaLibrary, type MetadataAnswer, requestMetadata } from "./library.ts";

/** Pause in milliseconds after a successful probe of a broker. */
const PROBE_MS = 1_000;
/** Pause in milliseconds after a failed probe of a broker. */
const RETRY_MS = 250;
/** Minimum pause in milliseconds between two probes of a broker, even when `refresh` is called. */
const PAUSE_MS_MIN = 50;
/**
 * Maximum number of milliseconds that `refresh` waits for the other brokers after the first broker
 * has answered.
 */
const FURTHER_MS_MAX = 250;
/** Milliseconds after which a broker counts as unresponsive if it has not answered a probe. */
const UNRESPONSIVE_MS = 1_000;
/**
 * Maximum number of brokers that are probed. The brokers in the settings come first; if they are
 * fewer, other brokers of the cluster follow.
 */
const PROBED_MAX = 5;

interface ProbedBroker {
  address: string;
  asker: Base;
  /** Start of the running probe, by `performance.now()`; undefined while no probe is running. */
  since?: number | undefined;
  /**
   * Start of the first probe after the broker's last answer, by `performance.now()`; undefined if
   * no probe was sent since that answer. The broker has been silent since this time.
   */
  silentSince?: number | undefined;
  /** Whether the broker answered the last completed probe. If it did not, `error` is the reason. */
  answered: boolean;
  error?: unknown;
  /**
   * Promise of the calls of `refresh` that wait for this broker's next probe; undefined while no
   * call waits. It resolves when that probe is answered, and rejects when it fails.
   */
  next?: PromiseWithResolvers<void> | undefined;
  /** Ends the pause before the next probe. */
  wake(): void;
}

/**
 * Monitors up to `PROBED_MAX` brokers with probes, which request the list of brokers and the
 * partition leaders. All clients take their metadata from the merged answers, because a client
 * alone would ask a hanging broker again and again. Connections to brokers that left the cluster
 * are closed.
 */
export class BrokerHealth {
  readonly #asked = new Map<string, ProbedBroker>();
  readonly #guided: ConnectionPool[] = [];
  readonly #topics = new Set<string>();
  /** View of the cluster, merged from the answers of all probed brokers that answer. */
  readonly view = new ClusterView();
  /**
   * Promise that resolves when the first broker has answered, or when all brokers have failed their
   * first probe.
   */
  readonly #heard = Promise.withResolvers<void>();
  readonly #closed = new OneTimeEvent<void>();
  #isOpen = true;

  constructor(
    private readonly kafka: KafkaLibrary,
    private readonly options: BaseOptions,
  ) {
    for (const broker of options.bootstrapBrokers) this.#ask(broker);
  }

  /**
   * Changes a client's connection pool. Requests that every broker can answer go first to brokers
   * that respond and are not outdated. Connections to brokers that left the cluster, or belong to
   * another one, are closed, and new ones fail at once.
   */
  routeConnections({ connections }: Pick<Base, "connections">): void {
    const get = connections.get.bind(connections);
    const getFirst = connections.getFirstAvailable.bind(connections);
    const reach = (broker: Broker | undefined, callback: Callback<Connection>) => {
      if (broker && this.view.isUsable(addressOf(broker))) get(broker, callback);
      else callback(this.#gone(broker));
    };
    const reachFirst = (brokers: Broker[], callback: Callback<Connection>) => {
      void this.#heard.promise.then(() => getFirst(this.#inOrder(brokers), callback));
    };
    Object.assign(connections, { get: reach, getFirstAvailable: reachFirst });
    this.#guided.push(connections);
  }

  /**
   * Calls `ask` for each probed broker that answers at present, with a client that connects to this
   * broker only. Resolves with the results of the calls that succeed within `UNRESPONSIVE_MS`.
   */
  async askEach<T>(ask: (client: Base) => Promise<T>): Promise<T[]> {
    const asked = [...this.#asked.values()].filter(({ address }) => this.#answers(address));
    const settled = await Promise.allSettled(
      asked.map(({ asker }) => withTimeLimit(ask(asker), UNRESPONSIVE_MS, lateAnswer)),
    );
    return settled.flatMap((it) => (it.status === "fulfilled" ? [it.value] : []));
  }

  /**
   * Returns the sorted addresses of the probed brokers that do not answer at present. Leaves out
   * brokers that have answered within the last `silentMs` milliseconds.
   */
  unresponsive(silentMs = 0): string[] {
    const until = performance.now() - silentMs;
    const silent = [...this.#asked.values()].filter(
      ({ silentSince = until }) => silentSince <= until,
    );
    const addresses = silent.map(({ address }) => address).sort();
    return addresses.filter((it) => !this.view.isForeign(it) && !this.#answers(it));
  }

  /**
   * Returns the result of the last completed probe of each broker. `error` is why it failed;
   * undefined if the broker answered. `isProbed` is false if no probe of the broker is completed
   * yet.
   */
  lastProbes(): { address: string; error: unknown; isProbed: boolean }[] {
    return [...this.#asked.values()].map(({ address, error, answered }) => {
      return { address, error, isProbed: answered || error !== undefined };
    });
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    this.#closed.happen();
    await Promise.allSettled(this.#asked.values().map(({ asker }) => asker.close()));
  }

  /**
   * Probes every broker; this and all later probes ask for `topics` too. Waits for the first
   * answer, then at most `FURTHER_MS_MAX` for the other brokers that were responsive before.
   * Rejects if no broker answers.
   */
  async refresh(topics: readonly string[]): Promise<void> {
    if (!this.#isOpen) throw this.#closedError();
    for (const topic of topics) this.#topics.add(topic);
    const answering: Promise<void>[] = [];
    const all = [...this.#asked.values()].map((asked) => {
      asked.next ??= Promise.withResolvers();
      asked.wake();
      if (this.#answers(asked.address)) answering.push(asked.next.promise);
      return asked.next.promise;
    });
    await Promise.any(all).catch(({ errors }: AggregateError) => {
      throw new this.kafka.MultipleErrors("Cannot connect to any broker.", errors);
    });
    await Promise.race([Promise.allSettled(answering), Bun.sleep(FURTHER_MS_MAX)]);
  }

  #ask(broker: Broker | string): void {
    const address = addressOf(broker);
    if (this.#asked.has(address) || !this.#makeRoom()) return;
    const bootstrapBrokers = [broker] as string[];
    const asker = new this.kafka.Base({ ...this.options, bootstrapBrokers, retries: 0 });
    const { connections } = asker;
    // The client must ask this broker only, not another one that it lists.
    const getFirstAvailable = ([own]: Broker[], callback: Callback<Connection>) => {
      connections.get(own!, callback);
    };
    Object.assign(connections, { getFirstAvailable });
    const asked: ProbedBroker = { address, asker, answered: false, wake() {} };
    this.#asked.set(address, asked);
    void this.#keepAsking(asked);
  }

  /**
   * Stops probing brokers that have left the cluster and do not answer, except those in the
   * settings. Returns whether one more broker may be probed. Silent brokers that have left never
   * count towards `PROBED_MAX`.
   */
  #makeRoom(): boolean {
    const named = new Set((this.options.bootstrapBrokers as string[]).map(addressOf));
    let count = 0;
    for (const { address, answered, asker } of this.#asked.values()) {
      if (answered || !this.view.hasLeft(address)) count++;
      else if (!named.has(address)) {
        this.#asked.delete(address);
        void asker.close().catch(() => {});
      }
    }
    return count < PROBED_MAX;
  }

  async #keepAsking(asked: ProbedBroker): Promise<void> {
    const { address, asker } = asked;
    while (this.#isOpen && this.#asked.get(address) === asked) {
      const { next } = asked;
      asked.next = undefined;
      asked.since = performance.now();
      asked.silentSince ??= asked.since;
      try {
        this.#take(address, await requestMetadata(this.kafka, asker, [...this.#topics]));
        Object.assign(asked, { answered: true, error: undefined, silentSince: undefined });
        next?.resolve();
      } catch (error) {
        Object.assign(asked, { answered: false, error });
        this.view.drop(address);
        next?.reject(error);
        // Refreshes that began during the probe must not wait for another one to time out.
        this.#rejectNext(asked, error);
      }
      asked.since = undefined;
      const isAnyAwaited = this.#asked.values().some(({ since }) => since !== undefined);
      if (asked.answered || !isAnyAwaited) this.#heard.resolve();
      await this.#pause(asked);
    }
    this.#rejectNext(asked, this.#closedError());
  }

  #rejectNext(asked: ProbedBroker, error: unknown): void {
    asked.next?.reject(error);
    asked.next = undefined;
  }

  /** Waits until the next probe is due, or until a call of `refresh` asks for it earlier. */
  async #pause(asked: ProbedBroker): Promise<void> {
    const endedAt = performance.now();
    const woken = Promise.withResolvers<void>();
    asked.wake = woken.resolve;
    if (asked.next !== undefined) woken.resolve();
    const pause = Bun.sleep(asked.answered ? PROBE_MS : RETRY_MS);
    await this.#closed.race(pause, woken.promise);
    const leftMs = endedAt + PAUSE_MS_MIN - performance.now();
    if (leftMs > 0) await this.#closed.race(Bun.sleep(leftMs));
  }

  #take(address: string, answer: MetadataAnswer): void {
    this.view.take(address, answer);
    for (const broker of this.view.brokers.values()) this.#ask(broker);
    for (const connections of this.#guided) {
      for (const [address, connection] of connections) {
        if (!this.view.isUsable(address)) connection.socket.destroy();
      }
    }
  }

  #answers(address: string): boolean {
    const { answered = false, since = Infinity } = this.#asked.get(address) ?? {};
    const isInTime = performance.now() - since < UNRESPONSIVE_MS;
    return answered && isInTime && !this.view.isForeign(address);
  }

  #gone(broker: Broker | undefined): Error {
    const name = broker === undefined ? "the broker" : addressOf(broker);
    const message = `The brokers do not know of ${name} any more`;
    // With `hasStaleMetadata` the Kafka library would keep a group coordinator that has left.
    return new this.kafka.NetworkError(message, { canRetry: true });
  }

  /**
   * Returns `brokers` and all members of the cluster in the order in which a request tries them:
   * first up-to-date brokers that respond, then outdated brokers (see `OutdatedBroker`) that
   * respond, then the others. Omits brokers of other Kafka clusters.
   */
  #inOrder(brokers: readonly Broker[]): Broker[] {
    const all = new Map(
      [...brokers, ...this.view.brokers.values()].map((it) => [addressOf(it), it]),
    );
    const rank = (address: string) => {
      if (!this.#answers(address)) return 2;
      return this.view.isOutdated(address) ? 1 : 0;
    };
    const own = [...all].filter(([address]) => !this.view.isForeign(address));
    return own.toSorted(([a], [b]) => rank(a) - rank(b)).map(([, broker]) => broker);
  }

  #closedError(): Error {
    return new this.kafka.NetworkError("The clients are closed", { canRetry: false });
  }
}

const lateAnswer = () => new Error(`Expected the broker to answer within ${UNRESPONSIVE_MS} ms`);
