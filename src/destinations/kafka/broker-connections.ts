import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Deadline } from "../../egress/deadline.ts";
import type { Egress, OnStage } from "../../egress/egress.ts";
import { loadKafkaProtocol } from "../../kafka/library.ts";
import { DATABASE_IDLE_MS_MAX, DATABASE_TIMEOUT_MS_DEFAULT } from "../limits.ts";
import type { ScramKeys } from "../scram-keys.ts";
import { BrokerConnection } from "./broker-connection.ts";
import { addressesOf, type KafkaConfig } from "./config.ts";
import { type BrokerAddress, brokerFailure, failureOf, KafkaFailure } from "./failures.ts";
import { KAFKA_CONNECTIONS_MAX } from "./limits.ts";
import { authenticate } from "./sasl.ts";

/**
 * Maximum timeout in milliseconds for connecting to a broker, and for each request to it. If the
 * timeout of a delivery is longer, the delivery has time left to try another broker.
 */
const STEP_MS_MAX = 10_000;
/** Maximum number of brokers to which one call of `askSeveral` sends its request. */
const SEVERAL = 3;
/** Longest time in milliseconds that `askSeveral` waits for further answers after the first. */
const FURTHER_MS_MAX = 1_000;

export interface BrokerConnectionsParts {
  egress: Egress;
  config: KafkaConfig;
  workspaceId: string;
  scramKeys: ScramKeys;
}

/**
 * Connections to the brokers of a cluster, one per address, opened at first use. All go through the
 * egress guard, which restricts addresses, because a broker can name any address as that of another
 * broker.
 */
export class BrokerConnections {
  /** Addresses of the brokers that the config names. */
  readonly bootstrap: readonly BrokerAddress[];
  /** Timeout for opening a connection, and for each request, in milliseconds. */
  readonly stepMs: number;
  readonly #connections = new Map<string, Promise<BrokerConnection>>();
  #turn: number;
  #idle: Timer | undefined;

  constructor(private readonly parts: BrokerConnectionsParts) {
    const { config } = parts;
    this.bootstrap = addressesOf(config.brokers);
    this.stepMs = Math.min(config.timeoutMs ?? DATABASE_TIMEOUT_MS_DEFAULT, STEP_MS_MAX);
    // A random start spreads the connections of many nodes over the brokers.
    this.#turn = randomInt(this.bootstrap.length);
  }

  /**
   * Returns an open connection to any broker. If no connection is open, tries the brokers of the
   * config one after the other. Rejects with a `KafkaFailure` when no broker can be reached.
   */
  async connectAny(signal: AbortSignal): Promise<BrokerConnection> {
    for (const opening of this.#connections.values()) {
      const open = await opening.catch(() => undefined);
      if (open?.isOpen) return open;
    }
    let failure: unknown;
    for (let tried = 0; tried < this.bootstrap.length; tried++) {
      signal.throwIfAborted();
      const address = this.bootstrap[this.#turn % this.bootstrap.length]!;
      try {
        return await this.connect(address, signal);
      } catch (error) {
        this.#turn += 1;
        // The failure of a broker that was not refused is more useful: it may be temporary.
        if (failure === undefined || failureOf(failure).outlook === "refused") failure = error;
      }
    }
    throw failure;
  }

  /**
   * Sends a request to up to `SEVERAL` brokers of `preferred` and the config at the same time.
   * Resolves with all answers that come within `FURTHER_MS_MAX` after the first. Rejects with a
   * `KafkaFailure` if no broker answers.
   */
  async askSeveral<T>(
    preferred: Iterable<BrokerAddress>,
    ask: (connection: BrokerConnection) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T[]> {
    const known = new Map([...preferred, ...this.bootstrap].map((it) => [keyOf(it), it]));
    const addresses = [...known.values()];
    const from = this.#turn++ % addresses.length;
    const asked = [...addresses.slice(from), ...addresses.slice(0, from)].slice(0, SEVERAL);
    const answers: T[] = [];
    const all = asked.map(async (address) => {
      answers.push(await ask(await this.connect(address, signal)));
    });
    try {
      await Promise.any(all);
    } catch (error) {
      const { errors } = error as AggregateError;
      throw errors.find((it) => failureOf(it).outlook !== "refused") ?? errors[0];
    }
    await Promise.race([Promise.allSettled(all), sleep(FURTHER_MS_MAX, undefined, { ref: false })]);
    return [...answers];
  }

  /**
   * Returns the open connection to a broker. If there is none, opens it, and calls `onStage` after
   * each stage of opening it.
   */
  async connect(
    address: BrokerAddress,
    signal: AbortSignal,
    onStage?: OnStage,
  ): Promise<BrokerConnection> {
    const key = keyOf(address);
    const kept = this.#connections.get(key);
    if (kept !== undefined) {
      const open = await kept.catch(() => undefined);
      if (open?.isOpen) return open;
      open?.destroy(new KafkaFailure("later", "The session with the broker has ended"));
      if (this.#connections.get(key) === kept) this.#connections.delete(key);
    }
    if (this.#connections.size >= KAFKA_CONNECTIONS_MAX) {
      throw new KafkaFailure("later", `The cluster has more than ${KAFKA_CONNECTIONS_MAX} brokers`);
    }
    const open = () => this.#open(address, signal, onStage);
    const opening = this.#connections.getOrInsertComputed(key, open);
    const forget = () => {
      if (this.#connections.get(key) === opening) this.#connections.delete(key);
    };
    try {
      const connection = await opening;
      connection.onEnd = forget;
      if (!connection.isOpen) forget();
      return connection;
    } catch (error) {
      forget();
      throw error;
    }
  }

  /**
   * Connects to a broker and authenticates. Rejects with a `KafkaFailure`, whose message names the
   * broker unless `signal` was aborted.
   */
  async #open(address: BrokerAddress, signal: AbortSignal, onStage?: OnStage) {
    const { host, port } = address;
    const { egress, config, workspaceId, scramKeys } = this.parts;
    const { tls = "verify", tlsCa, tlsServerName, user, password = "", mechanism } = config;
    try {
      const kafka = await loadKafkaProtocol();
      if (port < 1 || port > 65_535) throw new KafkaFailure("later", "The port does not exist");
      const socket = await egress.connect({
        workspaceId,
        host,
        port,
        timeoutMs: this.stepMs,
        signal,
        onStage,
        ...(tls === "verify" && { tls: { ca: tlsCa, serverName: tlsServerName } }),
      });
      const connection = new BrokerConnection(kafka, socket, address, this.stepMs);
      const end = () => connection.destroy(signal.reason);
      signal.addEventListener("abort", end, { once: true });
      try {
        await connection.negotiateVersions();
        const account = { user: user ?? "", password, mechanism: mechanism ?? "SCRAM-SHA-512" };
        if (user !== undefined) await authenticate(connection, account, scramKeys, signal);
        return connection;
      } catch (error) {
        connection.destroy(error);
        throw error;
      } finally {
        signal.removeEventListener("abort", end);
      }
    } catch (error) {
      throw signal.aborted ? failureOf(signal.reason) : brokerFailure(address, error);
    }
  }

  /** Closes all connections. Requests that wait for an answer fail with the error `reason`. */
  closeAll(reason: unknown): void {
    clearTimeout(this.#idle);
    for (const opening of this.#connections.values()) {
      opening.then((connection) => connection.destroy(reason)).catch(() => {});
    }
    this.#connections.clear();
  }

  /**
   * Calls `work`, which sends the requests of one delivery. When the delivery's timeout ends or
   * `outer` is aborted, aborts the signal of `work` and closes all connections. Also closes them
   * after `DATABASE_IDLE_MS_MAX` without a delivery.
   */
  async within<T>(outer: AbortSignal, work: (cut: AbortSignal) => Promise<T>): Promise<T> {
    clearTimeout(this.#idle);
    const { timeoutMs = DATABASE_TIMEOUT_MS_DEFAULT } = this.parts.config;
    const time = new Deadline(timeoutMs, outer);
    const cut = time.signal();
    cut.addEventListener("abort", () => this.closeAll(cut.reason), { once: true });
    try {
      return await work(cut);
    } finally {
      time.clear();
      const unused = new KafkaFailure("later", "The connection was not used");
      this.#idle = setTimeout(() => this.closeAll(unused), DATABASE_IDLE_MS_MAX).unref();
    }
  }
}

const keyOf = ({ host, port }: BrokerAddress) => `${host}:${port}`;
