import type { NodeBus } from "./node-bus.ts";

/**
 * Passes messages of live tails between nodes. A message has a key, such as a workspace id, and
 * goes to the nodes that subscribe to this key. Messages may be lost.
 */
export type TailRelay<T> = ReturnType<typeof createTailRelay<T>>;

/** Milliseconds between announcements of the keys that this node subscribes to. */
const ANNOUNCE_MS = 2_000;
/** Milliseconds for which the subscriptions in a node's announcement are valid. */
const PRESENT_MS = 10_000;
/**
 * Maximum number of keys for which this node remembers that other nodes subscribe to them.
 * Subscriptions to further keys are ignored.
 */
const WANTED_MAX = 10_000;

type Message = ["looks", keys: string[]] | ["shown", key: string, shown: unknown];

/**
 * Creates a `TailRelay` that sends its messages over the node bus, which broadcasts to all nodes.
 * Callers check `hasSubscriber` first, so that messages are only sent for keys to which another
 * node subscribes.
 */
export function createTailRelay<T>(exchange: NodeBus) {
  const looking = new Map<string, Set<(shown: T) => void>>();
  /**
   * Keys to which other nodes subscribe. The value is the time, by `performance.now`, at which the
   * subscription expires.
   */
  const wanted = new Map<string, number>();
  const listeners = new Set<() => void>();

  const say = () => {
    if (looking.size > 0) exchange.publish(["looks", [...looking.keys()]] satisfies Message);
    for (const [key, until] of wanted) if (until < performance.now()) wanted.delete(key);
  };
  const saying = setInterval(say, ANNOUNCE_MS);
  const stop = exchange.subscribe((message) => {
    if (!isMessage(message)) return;
    if (message[0] === "shown") {
      for (const see of looking.get(message[1]) ?? []) see(message[2] as T);
      return;
    }
    for (const key of message[1]) {
      if (wanted.has(key) || wanted.size < WANTED_MAX) {
        wanted.set(key, performance.now() + PRESENT_MS);
      }
    }
    for (const listener of listeners) listener();
  });

  return {
    /** Returns whether another node of the cluster subscribes to the key. */
    hasSubscriber: (key: string) => (wanted.get(key) ?? 0) > performance.now(),
    /** Whether another node of the cluster subscribes to at least one key. */
    get hasSubscribers() {
      return wanted.size > 0;
    },
    /** Sends a message under a key to all other nodes. Nodes without a subscription ignore it. */
    publish: (key: string, shown: T) => exchange.publish(["shown", key, shown] satisfies Message),
    /**
     * Calls `see` with each message that other nodes publish under the key, until the returned
     * function is called.
     */
    subscribe(key: string, see: (message: T) => void) {
      const sees = looking.getOrInsertComputed(key, () => new Set());
      // A new function, because the set would hold the same function only once.
      const seeing = (shown: T) => see(shown);
      sees.add(seeing);
      say();
      return () => {
        sees.delete(seeing);
        if (sees.size === 0 && looking.get(key) === sees) looking.delete(key);
      };
    },
    /** Adds a listener that is called when another node announces the keys it subscribes to. */
    onSubscribed: (listener: () => void) => void listeners.add(listener),
    close() {
      clearInterval(saying);
      stop();
    },
  };
}

function isMessage(message: unknown): message is Message {
  if (!Array.isArray(message)) return false;
  const [kind, first] = message;
  return kind === "looks" ? Array.isArray(first) : kind === "shown" && typeof first === "string";
}
