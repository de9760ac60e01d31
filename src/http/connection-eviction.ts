import { assert } from "../assert.ts";
import { HTTP_CONNECTIONS_MAX } from "../settings/limits.ts";
import type { HttpConnection } from "./connection.ts";

/**
 * The members of a connection that `OpenConnections` needs in order to choose a connection and
 * evict it (close it to admit a new one). When a connection is closed for another reason, its owner
 * must call `OpenConnections.remove`.
 */
type EvictableConnection = Pick<HttpConnection, "requests" | "isBusy" | "end">;

export interface OpenConnectionsOptions {
  /**
   * Maximum number of open connections. The default is `HTTP_CONNECTIONS_MAX`. At the maximum, a
   * new connection evicts (closes) an open one that waits for its client.
   */
  connectionsMax?: number | undefined;
  /**
   * Maximum number of open connections of one client network. At the maximum, a new connection
   * evicts (closes) an open one of the same network. 0, the default, means no limit.
   */
  connectionsPerNetworkMax?: number | undefined;
  /**
   * Called when a connection is evicted or refused. `reason` says which maximum was reached: that
   * of one network, or that of all connections.
   */
  onEvicted?(reason: "network" | "all"): void;
}

/**
 * Number of connections by which `connectionsMax` may be exceeded for a short time, because the
 * connection chosen for eviction may receive a request before the new one is added.
 */
const CONNECTIONS_BEYOND_MAX = 16;

/**
 * The open connections of a server. A new connection that would exceed a maximum evicts (closes) an
 * open one:
 * - Maximum of one network: a connection of this network.
 * - Maximum of all connections: any connection, those of trusted proxies last.
 *
 * A connection that waits for a response is never evicted. If most of the connections have not sent
 * a request yet, one of these is evicted, because attackers open many of them. Otherwise one that
 * has sent a request is evicted.
 */
export class OpenConnections<T extends EvictableConnection> {
  readonly #max: number;
  #perNetworkMax: number;
  readonly #strangers = new EvictionOrder<T>();
  readonly #proxies = new EvictionOrder<T>();
  readonly #networks = new Map<string, EvictionOrder<T>>();
  readonly #open = new Map<T, OpenConnection<T>>();

  constructor(private readonly options: OpenConnectionsOptions) {
    this.#max = options.connectionsMax ?? HTTP_CONNECTIONS_MAX;
    this.#perNetworkMax = options.connectionsPerNetworkMax ?? 0;
  }

  /**
   * Changes the maximum number of connections of each client network. Connections that are already
   * open beyond the new maximum stay open.
   */
  setPerNetworkMax(max: number): void {
    this.#perNetworkMax = max;
  }

  get size(): number {
    return this.#open.size;
  }

  connections(): Iterable<T> {
    return this.#open.keys();
  }

  /**
   * Returns whether another connection may be accepted, either in addition to the open ones or in
   * place of one that `tryAdd` evicts. First evicts connections while the maximum is exceeded by
   * `CONNECTIONS_BEYOND_MAX` or more.
   */
  hasRoom(): boolean {
    if (this.size < this.#max) return true;
    const most = this.#max + CONNECTIONS_BEYOND_MAX;
    while (this.size >= most && this.#evict(this.#nextOfAll(), "all"));
    return this.size < most && this.#nextOfAll() !== undefined;
  }

  /**
   * Adds a connection, and evicts others at a maximum. Returns false, without adding it, if its
   * network has reached its maximum and has no evictable connection. `network` is undefined for
   * trusted proxies, which have no such maximum.
   */
  tryAdd(connection: T, network: string | undefined): boolean {
    const isProxy = network === undefined;
    const own = isProxy ? undefined : (this.#networks.get(network) ?? new EvictionOrder<T>());
    const max = this.#perNetworkMax;
    const isFull = own !== undefined && max > 0 && own.size >= max;
    if (isFull && !this.#evict(own.next(), "network")) return false;
    while (this.size >= this.#max && this.#evict(this.#nextOfAll(), "all"));
    const orders = own === undefined ? [this.#proxies] : [this.#strangers, own];
    this.#open.set(connection, { network, entries: orders.map((it) => it.add(connection)) });
    // The eviction may have removed the last connection of the network, and with it the network's
    // entry.
    if (own !== undefined) this.#networks.set(network!, own);
    return true;
  }

  /** Stops counting a connection as silent. Called when the connection sends its first request. */
  onFirstRequest(connection: T): void {
    for (const entry of this.#open.get(connection)?.entries ?? []) entry.onFirstRequest();
  }

  /** Removes a connection that was closed. */
  remove(connection: T): void {
    const opened = this.#open.get(connection);
    if (opened === undefined) return;
    this.#open.delete(connection);
    for (const entry of opened.entries) entry.remove();
    const { network } = opened;
    if (network !== undefined && this.#networks.get(network)?.size === 0) {
      this.#networks.delete(network);
    }
  }

  #nextOfAll(): T | undefined {
    return this.#strangers.next() ?? this.#proxies.next();
  }

  #evict(connection: T | undefined, reason: "network" | "all"): boolean {
    if (connection !== undefined || reason === "network") this.options.onEvicted?.(reason);
    if (connection === undefined) return false;
    this.remove(connection);
    connection.end();
    return true;
  }
}

interface OpenConnection<T extends EvictableConnection> {
  /** Network of the client; undefined for a trusted proxy. */
  network: string | undefined;
  /**
   * Entries of the connection in eviction orders: one if its client is a trusted proxy, otherwise
   * two (in the order of all clients except trusted proxies, and in that of its network).
   */
  entries: ListEntry<T>[];
}

/**
 * A group of connections, and the choice of the one to evict first. A group has the connections of
 * the trusted proxies, of all other clients, or of one network.
 */
class EvictionOrder<T extends EvictableConnection> {
  readonly #silent = new LinkedList<T>();
  readonly #active = new LinkedList<T>();

  get size(): number {
    return this.#silent.size + this.#active.size;
  }

  add(connection: T): ListEntry<T> {
    const entry = new ListEntry(connection, this.#active);
    this.#silent.push(entry);
    return entry;
  }

  /**
   * Returns the connection to evict first, from the longer of the lists `#silent` and `#active`.
   * Returns undefined if all connections of that list wait for a response. The other list is spared
   * then, because its connections may be newly opened.
   */
  next(): T | undefined {
    const list = this.#silent.size > this.#active.size ? this.#silent : this.#active;
    let first: T | undefined;
    for (let looks = list.size; looks > 0; looks--) {
      const entry = list.first!;
      const { connection } = entry;
      if (!connection.isBusy()) {
        if (entry.requests === connection.requests) return connection;
        first ??= connection;
      }
      entry.requests = connection.requests;
      list.push(entry);
    }
    return first;
  }
}

/** Entry of a connection in a linked list. */
class ListEntry<T extends EvictableConnection> {
  /**
   * Number of requests of the connection at the time when the entry was put at the end of its list.
   * `next` compares it with the present number to see whether the connection has sent another.
   */
  requests: number;
  list: LinkedList<T> | undefined;
  before: ListEntry<T> | undefined;
  after: ListEntry<T> | undefined;

  constructor(
    readonly connection: T,
    private readonly active: LinkedList<T>,
  ) {
    this.requests = connection.requests;
  }

  onFirstRequest(): void {
    this.requests = this.connection.requests;
    this.active.push(this);
  }

  remove(): void {
    this.list?.remove(this);
  }
}

/**
 * A doubly linked list. A `Set` would be too slow: to find its first element, it steps over all
 * deleted ones.
 */
class LinkedList<T extends EvictableConnection> {
  size = 0;
  first: ListEntry<T> | undefined;
  #last: ListEntry<T> | undefined;

  /** Moves an entry to the end of this list, from whichever list contains it. */
  push(entry: ListEntry<T>): void {
    entry.remove();
    entry.list = this;
    entry.before = this.#last;
    if (this.#last === undefined) this.first = entry;
    else this.#last.after = entry;
    this.#last = entry;
    this.size++;
  }

  remove(entry: ListEntry<T>): void {
    assert(this.size > 0, "A list that holds an entry is not empty");
    if (entry.before === undefined) this.first = entry.after;
    else entry.before.after = entry.after;
    if (entry.after === undefined) this.#last = entry.before;
    else entry.after.before = entry.before;
    entry.list = undefined;
    entry.before = undefined;
    entry.after = undefined;
    this.size--;
  }
}
