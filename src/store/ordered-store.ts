import type { Key } from "lmdb";
import { ApiError } from "../errors.ts";
import type { Logger } from "../observe/log.ts";
import { type ChangeSet, decodeChangeSet, decodeValue, encodeChangeSet } from "./change-set.ts";
import type { Entry, Follower, OrderedLog } from "./ordered-log.ts";
import type { ChangeOptions, LocalStore, Rehearsal, Store } from "./store.ts";
import type { Table } from "./table.ts";

export interface OrderedStoreOptions {
  /** Of this node: a view of the log, which may be anew or left by an earlier run. */
  local: LocalStore;
  log: OrderedLog;
  /** What messages call the store, as in "The catalog is closed". */
  name: string;
  logger: Logger;
}

/** A change set is at most so long; brokers have bounds of their own. */
const CHANGE_SET_BYTES_MAX = 1 << 20;
/** A change, or a wait for what others changed, that takes longer is answered as unavailable. */
const CHANGE_MS_MAX = 20_000;

interface Waiting {
  apply: () => unknown;
  asKnown: boolean;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

interface Proposal {
  /** Whether the set took effect. */
  resolve(effective: boolean): void;
  /** Whoever proposed it needs no news of it. */
  isKnown: boolean;
}

/** How far the view is; stored in the transaction that brought it there. */
interface Place {
  /** Position of the first entry that is not in it. */
  next: number;
  /** Position of the last change set that took effect. */
  version: number;
}

const EMPTY: Place = { next: 0, version: -1 };

/**
 * Opens a store that several nodes change. A change runs against this node's view, and what it
 * would write goes to the log with the version it was computed at. Every node applies a change set
 * if, and only if, it was computed at the version it meets; the node that proposed one that was
 * not runs the change again. So the log decides, and nobody holds a lock.
 */
export function openOrderedStore(options: OrderedStoreOptions): Store {
  return new OrderedStore(options);
}

class OrderedStore implements Store {
  readonly #options: OrderedStoreOptions;
  readonly #author = crypto.randomUUID();
  readonly #places: Table<Place, string>;
  readonly #follower: Follower;
  /** Change sets of this node on their way, by number. */
  readonly #proposals = new Map<number, Proposal>();
  readonly #listeners = new Set<(tables: ReadonlySet<string>) => void>();
  /** Those of them that took effect in a transaction that may not have been committed yet. */
  readonly #effective = new Set<number>();
  /** Who waits for the view to reach a position. */
  #behind: { position: number; resolve(): void }[] = [];
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;
  /** The question for the log's end that comes next, for all who ask before it is asked. */
  #asking: Promise<number> | undefined;
  #asked: Promise<unknown> = Promise.resolve();
  #next: number;
  #number = 0;
  #closed = false;

  constructor(options: OrderedStoreOptions) {
    this.#options = options;
    this.#places = options.local.table("order");
    this.#next = this.#place().next;
    this.#follower = options.log.follow(this.#next, (entries) => this.#take(entries));
  }

  table<V, K extends Key>(name: string): Table<V, K> {
    return this.#options.local.table(name);
  }

  change<T>(apply: () => T, { asKnown = false }: ChangeOptions = {}): Promise<T> {
    if (this.#closed) return Promise.reject(this.#unavailable("is closed"));
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#waiting.push({ apply, asKnown, resolve: (value) => resolve(value as T), reject });
    this.#running ??= this.#run();
    return promise;
  }

  listen(listener: (tables: ReadonlySet<string>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async current(): Promise<void> {
    let end: number;
    try {
      end = await this.#end();
    } catch (cause) {
      throw this.#unavailable("cannot be compared with the other nodes'", cause);
    }
    await this.#reach(end);
  }

  trouble(): string | undefined {
    return this.#options.local.trouble() ?? this.#options.log.trouble();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#running;
    await this.#follower.close();
    for (const { resolve } of this.#behind) resolve();
    await this.#options.local.close();
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      await this.#decide(batch);
    }
    this.#running = undefined;
  }

  /** Settles changes that are proposed together, each on top of those before it. */
  async #decide(batch: readonly Waiting[]): Promise<void> {
    const until = performance.now() + CHANGE_MS_MAX;
    try {
      const isKnown = batch.every(({ asKnown }) => asKnown);
      // A refusal, too, must know all that was answered before.
      if (!isKnown) await this.current();
      while (performance.now() < until) {
        let base = EMPTY.version;
        const learn = () => {
          base = this.#place().version;
        };
        const applies = [learn, ...batch.map(({ apply }) => apply)];
        const { outcomes, writes } = await this.#options.local.rehearse(applies);
        const set = { author: this.#author, number: this.#number++, base, writes };
        const bytes = encodeChangeSet(set);
        if (bytes.length > CHANGE_SET_BYTES_MAX) return await this.#decideApart(batch);
        const isDecided = writes.length === 0 || (await this.#propose(set.number, bytes, isKnown));
        if (isDecided) return settle(batch, outcomes.slice(1));
      }
      throw this.#unavailable("is changed by others all the time");
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  async #decideApart(batch: readonly Waiting[]): Promise<void> {
    if (batch.length === 1) {
      const message = `Expected a change of at most ${CHANGE_SET_BYTES_MAX} bytes`;
      throw new ApiError("too-large", message);
    }
    for (const one of batch) await this.#decide([one]);
  }

  /** Whether a change set took effect. Rejects when nobody knows yet whether it will. */
  async #propose(number: number, bytes: Uint8Array, isKnown: boolean): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#proposals.set(number, { resolve, isKnown });
    try {
      const kept = this.#options.log.append(bytes).then(() => promise);
      // It is seen in the log also when the answer is lost.
      return await this.#timely(Promise.race([promise, kept]));
    } catch (cause) {
      if (cause instanceof ApiError) throw cause;
      throw new ApiError("unavailable", "The change could not be stored");
    } finally {
      this.#proposals.delete(number);
    }
  }

  /**
   * Brings the view forward. Entries may come twice, when it is not known whether they were stored:
   * the version is past them then, and what was decided the first time stands.
   */
  async #take(entries: readonly Entry[]): Promise<void> {
    const sets = entries.flatMap(({ position, bytes }) => this.#decode(position, bytes));
    // No table can be opened within a transaction; another node may know more of them.
    for (const name of new Set(sets.flatMap(({ set }) => set.writes.map((it) => it.table)))) {
      this.#options.local.table(name);
    }
    const last = entries.at(-1)!.position;
    const news = new Set<string>();
    await this.#options.local.change(() => {
      let { version } = this.#place();
      for (const { position, set } of sets) {
        if (set.base !== version) continue;
        this.#apply(set);
        version = position;
        const isOwn = set.author === this.#author;
        if (isOwn) this.#effective.add(set.number);
        if (isOwn && this.#proposals.get(set.number)?.isKnown) continue;
        for (const { table } of set.writes) news.add(table);
      }
      this.#places.put("place", { next: last + 1, version });
    });
    this.#next = last + 1;
    if (news.size > 0) for (const listener of this.#listeners) listener(news);
    for (const { set } of sets) if (set.author === this.#author) this.#settle(set.number);
    const behind = this.#behind;
    this.#behind = behind.filter(({ position }) => position > this.#next);
    for (const { position, resolve } of behind) if (position <= this.#next) resolve();
  }

  #decode(position: number, bytes: Uint8Array): { position: number; set: ChangeSet }[] {
    const set = decodeChangeSet(bytes);
    if (set !== undefined) return [{ position, set }];
    const { logger, name } = this.#options;
    logger.error({ position }, `${name} passes over an entry that is no change set`);
    return [];
  }

  #apply({ writes }: ChangeSet): void {
    for (const { table, key, value } of writes) {
      const opened = this.#options.local.table<unknown, Key>(table);
      if (value === undefined) opened.remove(key);
      else opened.put(key, decodeValue(value));
    }
  }

  #settle(number: number): void {
    this.#proposals.get(number)?.resolve(this.#effective.delete(number));
  }

  #place(): Place {
    return this.#places.get("place") ?? EMPTY;
  }

  /** Where the log ends: asked after the call, and once for all calls that wait to be asked. */
  #end(): Promise<number> {
    this.#asking ??= this.#asked.then(() => {
      this.#asking = undefined;
      const end = this.#options.log.end();
      this.#asked = end.catch(() => {});
      return end;
    });
    return this.#asking;
  }

  #reach(position: number): Promise<void> {
    if (this.#next >= position) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#behind.push({ position, resolve });
    return this.#timely(promise);
  }

  async #timely<T>(promise: Promise<T>): Promise<T> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      late.reject(this.#unavailable("is behind the other nodes'"));
    }, CHANGE_MS_MAX);
    try {
      return await Promise.race([promise, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  #unavailable(state: string, cause?: unknown): ApiError {
    const { name, logger } = this.#options;
    if (cause !== undefined) logger.warn({ err: cause }, `${name} ${state}`);
    return new ApiError("unavailable", `${name} ${state}`);
  }
}

function settle(batch: readonly Waiting[], outcomes: Rehearsal["outcomes"]): void {
  outcomes.forEach((outcome, i) => {
    if (outcome.status === "fulfilled") batch[i]!.resolve(outcome.value);
    else batch[i]!.reject(outcome.reason);
  });
}
