import { assert } from "../assert.ts";
import type { ReceiverConnection } from "./receiver-connection.ts";

/** Longest time in milliseconds for which an idle connection is kept. */
const EGRESS_IDLE_MS_MAX = 60_000;
/**
 * Maximum number of idle connections of one HTTP client. All destinations share one client; user
 * code and alerts have a client each. A client that would keep more closes the connection that has
 * been idle longest.
 */
export const EGRESS_IDLE_CONNECTIONS_MAX = 256;

const sweepMs = 1_000;

/**
 * Idle connections, kept for further requests to the same endpoint. Above their maximum number, the
 * connection that has been idle longest is closed, no matter which workspace (tenant) used it.
 */
export class IdleConnections {
  /**
   * Maps each idle connection to the time of `performance.now()` until which it may be used. The
   * order is that in which the connections became idle, beginning with the earliest.
   */
  readonly #until = new Map<ReceiverConnection, number>();
  readonly #byKey = new Map<string, ReceiverConnection[]>();
  readonly #max: number;
  readonly #timer = setInterval(() => this.#sweep(), sweepMs).unref();

  constructor(max: number) {
    this.#max = Math.min(max, EGRESS_IDLE_CONNECTIONS_MAX);
  }

  /**
   * Removes and returns the connection that became idle last, of those with the given `key`
   * (workspace and endpoint) and certificate authorities `ca`. Returns undefined if there is none
   * that may still be used.
   */
  take(key: string, ca: string | undefined): ReceiverConnection | undefined {
    const connection = this.#byKey
      .get(key)
      ?.findLast((kept) => kept.ca === ca && this.#until.get(kept)! > performance.now());
    if (connection !== undefined) this.forget(connection);
    return connection;
  }

  /**
   * Keeps an open connection for at most `ms` milliseconds. When there are too many connections,
   * closes the one that has been idle longest.
   */
  keep(connection: ReceiverConnection, ms = EGRESS_IDLE_MS_MAX): void {
    this.#byKey.getOrInsert(connection.key, []).push(connection);
    this.#until.set(connection, performance.now() + Math.min(ms, EGRESS_IDLE_MS_MAX));
    if (this.#until.size > this.#max) this.#until.keys().next().value!.destroy();
    assert(this.#until.size <= this.#max, "Idle connections never exceed their bound");
  }

  /** Removes a connection, if it is idle. */
  forget(connection: ReceiverConnection): void {
    if (!this.#until.delete(connection)) return;
    const sameKey = this.#byKey.get(connection.key)!;
    sameKey.splice(sameKey.lastIndexOf(connection), 1);
    if (sameKey.length === 0) this.#byKey.delete(connection.key);
  }

  close(): void {
    for (const connection of this.#until.keys()) connection.destroy();
    clearInterval(this.#timer);
  }

  #sweep(): void {
    const now = performance.now();
    for (const [connection, until] of this.#until) if (until <= now) connection.destroy();
  }
}
