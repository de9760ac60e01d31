import type { NodeBus } from "./node-bus.ts";

/** Relays messages to nodes with a subscriber, by a key such as a workspace; some may be lost. */
export interface TailRelay<T> {
  /** Whether another node has a subscriber of the key. */
  hasSubscriber(key: string): boolean;
  readonly hasSubscribers: boolean;
  publish(key: string, message: T): void;
  /** Begins a subscription to messages of other nodes, and returns the function that ends it. */
  subscribe(key: string, receive: (message: T) => void): () => void;
  /** Calls the listener when another node announces its subscriptions. */
  onSubscribed(listener: () => void): void;
  close(): void;
}

/** How often a node says that it looks, and how long the others believe that. */
const SAY_MS = 2_000;
const BELIEVED_MS = 10_000;
/** Keys that other nodes may look at together. */
const WANTED_MAX = 10_000;

type Message = ["looks", keys: string[]] | ["shown", key: string, shown: unknown];

/** Relays messages over the node bus, only for keys that another node has subscribed to. */
export function createTailRelay<T>(exchange: NodeBus): TailRelay<T> {
  const looking = new Map<string, Set<(shown: T) => void>>();
  /** Keys that other nodes look at, and until when that is believed. */
  const wanted = new Map<string, number>();
  const listeners = new Set<() => void>();

  const say = () => {
    if (looking.size > 0) exchange.publish(["looks", [...looking.keys()]] satisfies Message);
    for (const [key, until] of wanted) if (until < performance.now()) wanted.delete(key);
  };
  const saying = setInterval(say, SAY_MS);
  const stop = exchange.subscribe((message) => {
    if (!isMessage(message)) return;
    if (message[0] === "shown") {
      for (const see of looking.get(message[1]) ?? []) see(message[2] as T);
      return;
    }
    for (const key of message[1]) {
      if (wanted.has(key) || wanted.size < WANTED_MAX) {
        wanted.set(key, performance.now() + BELIEVED_MS);
      }
    }
    for (const listener of listeners) listener();
  });

  return {
    hasSubscriber: (key) => (wanted.get(key) ?? 0) > performance.now(),
    get hasSubscribers() {
      return wanted.size > 0;
    },
    publish: (key, shown) => exchange.publish(["shown", key, shown] satisfies Message),
    subscribe(key, see) {
      const sees = looking.get(key) ?? new Set();
      looking.set(key, sees);
      // A new function, so that one may look twice.
      const seeing = (shown: T) => see(shown);
      sees.add(seeing);
      say();
      return () => {
        sees.delete(seeing);
        if (sees.size === 0 && looking.get(key) === sees) looking.delete(key);
      };
    },
    onSubscribed: (listener) => void listeners.add(listener),
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
