import { assert } from "../assert.ts";
import type { ReceiverConnection } from "./receiver-connection.ts";

/** Longest time in milliseconds for which an idle connection is kept. */
const EGRESS_IDLE_MS_MAX = 60_000;
/**
 * Largest number of idle connections that destinations keep. User code may keep the same number in
 * addition. When there are more, the connection that has been idle longest is closed.
 */
export const EGRESS_IDLE_CONNECTIONS_MAX = 256;

interface IdleConnection {
  connection: ReceiverConnection;
  key: string;
  /** Time of `performance.now()` until which the connection may be used. */
  until: number;
}

const sweepMs = 1_000;

/**
 * Idle connections, which are kept for further requests to the same endpoint. When there are too
 * many, the connection that has been idle longest is closed, whichever workspace (tenant) uses it.
 * The bound is needed because user code can connect to any number of endpoints.
 */
export class IdleConnections {
  /** All idle connections. The one that has been idle longest is first. */
  readonly #all = new Set<IdleConnection>();
  readonly #byKey = new Map<string, IdleConnection[]>();
  readonly #max: number;
  readonly #timer = setInterval(() => this.#sweep(), sweepMs).unref();

  constructor(max: number) {
    this.#max = Math.min(max, EGRESS_IDLE_CONNECTIONS_MAX);
  }

  /**
   * Removes and returns the most recently used idle connection with the key (workspace and
   * endpoint); undefined when there is none.
   */
  take(key: string): ReceiverConnection | undefined {
    const kept = this.#byKey.get(key)?.at(-1);
    if (kept === undefined) return undefined;
    this.#forget(kept);
    return kept.connection;
  }

  /**
   * Keeps an open connection for at most `ms` milliseconds. When there are too many connections,
   * closes the one that has been idle longest.
   */
  keep(key: string, connection: ReceiverConnection, ms = EGRESS_IDLE_MS_MAX): void {
    const until = performance.now() + Math.min(ms, EGRESS_IDLE_MS_MAX);
    const kept: IdleConnection = { connection, key, until };
    const sameKey = this.#byKey.get(key);
    if (sameKey === undefined) this.#byKey.set(key, [kept]);
    else sameKey.push(kept);
    this.#all.add(kept);
    connection.onEnd = () => this.#forget(kept);
    if (this.#all.size > this.#max) {
      this.#all.values().next().value!.connection.destroy();
    }
    assert(this.#all.size <= this.#max, "Idle connections never exceed their bound");
  }

  close(): void {
    for (const { connection } of this.#all) connection.destroy();
    clearInterval(this.#timer);
  }

  #forget(kept: IdleConnection): void {
    kept.connection.onEnd = () => {};
    this.#all.delete(kept);
    const sameKey = this.#byKey.get(kept.key)!;
    sameKey.splice(sameKey.lastIndexOf(kept), 1);
    if (sameKey.length === 0) this.#byKey.delete(kept.key);
  }

  #sweep(): void {
    const now = performance.now();
    for (const { connection, until } of this.#all) if (until <= now) connection.destroy();
  }
}
