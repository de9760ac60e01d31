import { assert } from "../assert.ts";

/** A connection as far as its eviction depends on it. */
export interface EvictableConnection {
  /** Requests that the connection has made so far. */
  readonly requests: number;
  /** Whether a response is owed. */
  isBusy(): boolean;
  /** Ends the connection, whose owner then calls `remove`. */
  end(): void;
}

export interface OpenConnectionsOptions {
  /** Most connections in all. */
  max: number;
  /** Most connections of one network; 0 is no limit. */
  perNetworkMax: number;
  /** Called when a connection is evicted or refused because its network, or all, are at the bound. */
  onEvicted?(reason: "network" | "all"): void;
}

/**
 * Connections accepted beyond the bound: for each, the connection chosen for eviction made another
 * request at that moment.
 */
const CONNECTIONS_BEYOND_MAX = 16;

/**
 * The open connections, and which of them a new one evicts: one that waits for its client, of the
 * same network where the network is at its bound, of any network where all are at theirs, and of a
 * proxy last. While connections that never made a request are the majority, they go first, since a
 * flood is silent; otherwise the connection goes that has waited longest since its last request, so
 * that a newcomer may make its first. The choice costs the same however many connections there are:
 * an entry is examined again only after its connection made a request.
 */
export class OpenConnections<T extends EvictableConnection> {
  readonly #options: OpenConnectionsOptions;
  readonly #strangers = new EvictionOrder<T>();
  readonly #proxies = new EvictionOrder<T>();
  readonly #networks = new Map<string, EvictionOrder<T>>();
  readonly #entries = new Map<T, ConnectionEntries<T>>();

  constructor(options: OpenConnectionsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  connections(): Iterable<T> {
    return this.#entries.keys();
  }

  /** Whether one more connection may be accepted; evicts one where no room is left at all. */
  hasRoom(): boolean {
    const { max } = this.#options;
    if (this.size < max) return true;
    const most = max + CONNECTIONS_BEYOND_MAX;
    while (this.size >= most && this.#evict(this.#nextOfAll(), "all"));
    return this.size < most && this.#nextOfAll() !== undefined;
  }

  /**
   * Adds a connection, and evicts others for it; false when every connection of its network is owed
   * a response. A connection without a network is a proxy's, which speaks for many clients.
   */
  tryAdd(connection: T, network: string | undefined): boolean {
    const own = network === undefined ? undefined : this.#networkOf(network);
    const isFull = own !== undefined && this.#isFull(own);
    if (isFull && !this.#evict(own.next(), "network")) return false;
    while (this.size >= this.#options.max && this.#evict(this.#nextOfAll(), "all"));
    this.#entries.set(connection, {
      network,
      all: (own === undefined ? this.#proxies : this.#strangers).add(connection),
      own: own?.add(connection),
    });
    // The eviction may have removed the network's last connection, and with it the network.
    if (own !== undefined) this.#networks.set(network!, own);
    return true;
  }

  /** Notes that the connection made its first request. */
  onFirstRequest(connection: T): void {
    const entries = this.#entries.get(connection);
    if (entries === undefined) return;
    entries.all.onFirstRequest();
    entries.own?.onFirstRequest();
  }

  /** Forgets a connection that has ended. */
  remove(connection: T): void {
    const entries = this.#entries.get(connection);
    if (entries === undefined) return;
    this.#entries.delete(connection);
    entries.all.remove();
    entries.own?.remove();
    const { network } = entries;
    if (network !== undefined && this.#networks.get(network)?.size === 0) {
      this.#networks.delete(network);
    }
  }

  #networkOf(network: string): EvictionOrder<T> {
    return this.#networks.get(network) ?? new EvictionOrder<T>();
  }

  #isFull({ size }: EvictionOrder<T>): boolean {
    return this.#options.perNetworkMax > 0 && size >= this.#options.perNetworkMax;
  }

  #nextOfAll(): T | undefined {
    return this.#strangers.next() ?? this.#proxies.next();
  }

  #evict(connection: T | undefined, reason: "network" | "all"): boolean {
    if (connection !== undefined || reason === "network") this.#options.onEvicted?.(reason);
    if (connection === undefined) return false;
    this.remove(connection);
    connection.end();
    return true;
  }
}

/** A connection's entries in the order of all connections and in that of its network. */
interface ConnectionEntries<T extends EvictableConnection> {
  network: string | undefined;
  all: ListEntry<T>;
  own: ListEntry<T> | undefined;
}

/** Connections in the order in which they are evicted. */
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

  /** The connection to evict first; undefined while every connection is owed a response. */
  next(): T | undefined {
    const list = this.#silent.size > this.#active.size ? this.#silent : this.#active;
    for (let looks = list.size; looks > 0; looks--) {
      const entry = list.first!;
      const { connection } = entry;
      if (entry.requests === connection.requests && !connection.isBusy()) return connection;
      entry.requests = connection.requests;
      list.push(entry);
    }
    return undefined;
  }
}

/** A connection's entry in a linked list. */
class ListEntry<T extends EvictableConnection> {
  readonly connection: T;
  readonly #active: LinkedList<T>;
  /** Requests that the connection had made when the entry was put at the end of its list. */
  requests: number;
  list: LinkedList<T> | undefined;
  before: ListEntry<T> | undefined;
  after: ListEntry<T> | undefined;

  constructor(connection: T, kept: LinkedList<T>) {
    this.connection = connection;
    this.#active = kept;
    this.requests = connection.requests;
  }

  onFirstRequest(): void {
    this.requests = this.connection.requests;
    this.#active.push(this);
  }

  remove(): void {
    this.list?.remove(this);
  }
}

/** A doubly linked list: a Set steps over all the entries it has deleted to find its first. */
class LinkedList<T extends EvictableConnection> {
  size = 0;
  first: ListEntry<T> | undefined;
  #last: ListEntry<T> | undefined;

  /** Puts an entry at the end, after it was removed from the list that it was in. */
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
