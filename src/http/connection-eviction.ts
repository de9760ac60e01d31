/** What a place needs to know of its connection. */
export interface EvictableConnection {
  /** Requests that the connection has made so far. */
  readonly requests: number;
  /** Whether an answer is owed. */
  isBusy(): boolean;
  /** Ends the connection, which then calls `leave`. */
  end(): void;
}

export interface OpenConnectionsOptions {
  /** Most connections in all. */
  max: number;
  /** Most connections of one network; 0 is no limit. */
  perNetworkMax: number;
  /** Called when a connection is ended, or not taken, for want of a place. */
  onEvicted?(reason: "network" | "all"): void;
}

/**
 * Connections beyond the bound: each came for the place of a connection that made another request
 * in that moment.
 */
const PLACES_BEYOND_MAX = 16;

/**
 * Decides which connections may stay. A new connection takes the place of one that waits for its
 * client: of its own network where the network has all it may have, of any network where there are
 * too many in all, and of a proxy last. While connections that never made a request are the
 * majority, they go first, since a flood is silent; otherwise those go that made a request and have
 * waited longest, so that a newcomer may make its first. All of this costs the same however many
 * connections there are: a place is looked at again only after its connection made a request.
 */
export class OpenConnections<T extends EvictableConnection> {
  readonly #options: OpenConnectionsOptions;
  readonly #strangers = new EvictionOrder<T>();
  readonly #proxies = new EvictionOrder<T>();
  readonly #networks = new Map<string, EvictionOrder<T>>();
  readonly #places = new Map<T, ConnectionEntries<T>>();

  constructor(options: OpenConnectionsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#places.size;
  }

  connections(): Iterable<T> {
    return this.#places.keys();
  }

  /**
   * Whether a further connection may come; when there is no room at all, one connection is ended
   * for it.
   */
  hasRoom(): boolean {
    const { max } = this.#options;
    if (this.size < max) return true;
    const most = max + PLACES_BEYOND_MAX;
    while (this.size >= most && this.#free(this.#longest(), "all"));
    return this.size < most && this.#longest() !== undefined;
  }

  /**
   * Gives a connection a place; false when every connection of its network is owed an answer. A
   * connection without a network is a proxy's, which speaks for many clients.
   */
  tryAdd(connection: T, network: string | undefined): boolean {
    const own = network === undefined ? undefined : this.#networkOf(network);
    const isFull = own !== undefined && this.#isFull(own);
    if (isFull && !this.#free(own.next(), "network")) return false;
    while (this.size >= this.#options.max && this.#free(this.#longest(), "all"));
    this.#places.set(connection, {
      network,
      all: (own === undefined ? this.#proxies : this.#strangers).add(connection),
      own: own?.add(connection),
    });
    // The network's last connection may just have ended, and the network been forgotten.
    if (own !== undefined) this.#networks.set(network!, own);
    return true;
  }

  /** The connection made its first request. */
  onFirstRequest(connection: T): void {
    const place = this.#places.get(connection);
    if (place === undefined) return;
    place.all.onFirstRequest();
    place.own?.onFirstRequest();
  }

  /** The connection has ended. */
  remove(connection: T): void {
    const place = this.#places.get(connection);
    if (place === undefined) return;
    this.#places.delete(connection);
    place.all.remove();
    place.own?.remove();
    const { network } = place;
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

  #longest(): T | undefined {
    return this.#strangers.next() ?? this.#proxies.next();
  }

  #free(connection: T | undefined, reason: "network" | "all"): boolean {
    if (connection !== undefined || reason === "network") this.#options.onEvicted?.(reason);
    if (connection === undefined) return false;
    this.remove(connection);
    connection.end();
    return true;
  }
}

/** Where a connection stands, among all and among those of its network. */
interface ConnectionEntries<T extends EvictableConnection> {
  network: string | undefined;
  all: ListEntry<T>;
  own: ListEntry<T> | undefined;
}

/** Connections in the order in which their places are given away. */
class EvictionOrder<T extends EvictableConnection> {
  readonly #silent = new LinkedList<T>();
  readonly #kept = new LinkedList<T>();

  get size(): number {
    return this.#silent.size + this.#kept.size;
  }

  add(connection: T): ListEntry<T> {
    const stand = new ListEntry(connection, this.#kept);
    this.#silent.push(stand);
    return stand;
  }

  /** The connection whose place goes first; undefined while all of them may stay. */
  next(): T | undefined {
    const line = this.#silent.size > this.#kept.size ? this.#silent : this.#kept;
    for (let looks = line.size; looks > 0; looks--) {
      const stand = line.first!;
      const { connection } = stand;
      if (stand.requests === connection.requests && !connection.isBusy()) return connection;
      stand.requests = connection.requests;
      line.push(stand);
    }
    return undefined;
  }
}

/** A connection's entry in a line. */
class ListEntry<T extends EvictableConnection> {
  readonly connection: T;
  readonly #kept: LinkedList<T>;
  /** Requests that the connection had made when the entry came to the end of the line. */
  requests: number;
  list: LinkedList<T> | undefined;
  before: ListEntry<T> | undefined;
  after: ListEntry<T> | undefined;

  constructor(connection: T, kept: LinkedList<T>) {
    this.connection = connection;
    this.#kept = kept;
    this.requests = connection.requests;
  }

  onFirstRequest(): void {
    this.requests = this.connection.requests;
    this.#kept.push(this);
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

  /** Puts an entry, wherever it was before, at the end. */
  push(stand: ListEntry<T>): void {
    stand.remove();
    stand.list = this;
    stand.before = this.#last;
    if (this.#last === undefined) this.first = stand;
    else this.#last.after = stand;
    this.#last = stand;
    this.size++;
  }

  remove(stand: ListEntry<T>): void {
    if (stand.before === undefined) this.first = stand.after;
    else stand.before.after = stand.after;
    if (stand.after === undefined) this.#last = stand.before;
    else stand.after.before = stand.before;
    stand.list = undefined;
    stand.before = undefined;
    stand.after = undefined;
    this.size--;
  }
}
