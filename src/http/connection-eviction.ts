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
 * Number of connections by which `connectionsMax` may be exceeded for a short time. This happens
 * when the connection that `hasRoom` found for eviction receives a request before `tryAdd` is
 * called. That connection stays open, and the new one is admitted nevertheless.
 */
const CONNECTIONS_BEYOND_MAX = 16;

/**
 * The open connections of a server. When a new connection would exceed a maximum, an open one is
 * evicted (closed). At the maximum for one network, this is a connection of that network. At the
 * maximum for all connections, it may belong to any client; connections of trusted proxies are
 * evicted last. A connection that waits for a response is never evicted.
 *
 * A silent connection has never sent a request; any other is active. If most of the connections in
 * question are silent, a silent one is evicted, because attackers open many of them. Otherwise an
 * active one is evicted, so that new clients have time for their first request.
 *
 * Silent and active connections are in two lists. The chosen list is searched from its start. The
 * search moves a connection to the list's end if the connection waits for a response, or has sent a
 * request since it was last put there. The first connection that is not moved is evicted. If all
 * are moved, the first moved one that waits for no response is evicted.
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
   * Adds a connection, and evicts others when a maximum is reached. Returns false without adding it
   * if its network has reached its maximum and no connection of the network can be evicted.
   * `network` is undefined for a trusted proxy: its requests come from many clients, so no maximum
   * per network applies.
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
   * The connection's entries in the lists of groups (`EvictionOrder`). A connection of a trusted
   * proxy is only in the group of the trusted proxies. Any other connection is in two groups: that
   * of all other clients, and that of its network.
   */
  entries: ListEntry<T>[];
}

/**
 * A group of connections, and the choice of the one to evict first. Connections of trusted proxies
 * form one group. Any other connection is in two groups: that of its network, and that of all
 * clients that are not trusted proxies.
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
   * Returns the connection to evict first, from the longer one of the lists `#silent` and
   * `#active`. Returns undefined if all connections of this list wait for a response. The shorter
   * list is not used then, so that a client that has just connected keeps its silent connection.
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
