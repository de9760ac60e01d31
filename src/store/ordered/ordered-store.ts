import type { Key } from "lmdb";
import { ApiError, StartError } from "../../errors.ts";
import type { Logger } from "../../observe/log.ts";
import type { DryRun } from "../row-write.ts";
import type { ChangeOptions, LocalStore, Store } from "../store.ts";
import type { Table } from "../table.ts";
import { encodeChangeSet, newerFormat, SHARED_FORMAT } from "./change-set.ts";
import { type CompactionBounds, LogCompaction } from "./log-compaction.ts";
import type { Follower, LogEntry, OrderedLog } from "./ordered-log.ts";
import { OrderedView } from "./ordered-view.ts";

export interface OrderedStoreOptions {
  /** Of this node: a view of the log, which may be anew or left by an earlier run. */
  local: LocalStore;
  log: OrderedLog;
  /** What messages call the store, as in "The catalog is closed". */
  name: string;
  logger: Logger;
  /** By default of a log that is read in a second or two. */
  bounds?: CompactionBounds;
  /** Called when the log has what a newer pixelmill wrote: nothing is read from there on. */
  onNewer?(reason: string): void;
}

/** A store that several nodes change. */
export interface OrderedStore extends Store {
  /**
   * Resolves once the view has what the log held at the call, however long that takes; rejects as
   * `unavailable` when the store is closed, and with `StartError` when the log has lost its end.
   */
  recover(): Promise<void>;
}

/** A change set is at most so long. */
const CHANGE_SET_BYTES_MAX = 64 << 20;
/** A change, or a wait for what others changed, that takes longer is answered as unavailable. */
const CHANGE_MS_MAX = 20_000;

/** How long a node that begins waits for a log that ends before what was read of it. */
const AHEAD_MS_MAX = 2_000;
/** Until a node that begins asks once more where the log ends. */
const RETRY_MS = 250;

interface Waiting {
  apply: () => unknown;
  allowStale: boolean;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

interface Proposal {
  /** Whether the set took effect. */
  resolve(effective: boolean): void;
  /** Nobody will know. */
  reject(error: unknown): void;
  /** Whoever proposed it needs no news of it. */
  isKnown: boolean;
}

/**
 * Opens a store that several nodes change. A change runs against this node's view, and what it
 * would write goes to the log with the version it was computed at. Every node applies a change set
 * if, and only if, it was computed at the version it meets; the node that proposed one that was
 * not runs the change again. So the log decides, and nobody holds a lock.
 */
export function openOrderedStore(options: OrderedStoreOptions): OrderedStore {
  return new NodeStore(options);
}

class NodeStore implements OrderedStore {
  readonly #options: OrderedStoreOptions;
  readonly #author = crypto.randomUUID();
  readonly #view: OrderedView;
  readonly #rewriting: LogCompaction;
  readonly #follower: Follower;
  /** Change sets of this node on their way, by number. */
  readonly #proposals = new Map<number, Proposal>();
  readonly #listeners = new Set<(tables: ReadonlySet<string>) => void>();
  /** Who waits for the view to reach a position. */
  #behind: { position: number; resolve(): void; refuse(): void }[] = [];
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;
  /** The question for the log's end that comes next, for all who ask before it is asked. */
  #asking: Promise<number> | undefined;
  #asked: Promise<unknown> = Promise.resolve();
  #next: number;
  /** The view has all rows of its version. */
  #isWhole: boolean;
  /** What is wrong with a log that has lost its end. */
  #ahead: string | undefined;
  /** Why nothing more is read, when a newer pixelmill wrote to the log. */
  #refusal: string | undefined;
  #number = 0;
  #closed = false;

  constructor(options: OrderedStoreOptions) {
    this.#options = options;
    const { local, log } = options;
    // No table can be opened within a transaction, and a walk goes over all.
    for (const name of local.tables()) local.table(name);
    const isKnown = (number: number) => this.#proposals.get(number)?.isKnown ?? false;
    this.#view = new OrderedView({ ...options, author: this.#author, isKnown });
    this.#rewriting = new LogCompaction({
      ...{ ...options, view: this.#view },
      change: (apply, how) => this.change(apply, how),
    });
    const { next, lacks } = this.#view.position();
    this.#next = next;
    this.#isWhole = lacks === undefined;
    this.#follower = log.follow(next, (entries) => this.#takeKnown(entries));
  }

  table<V, K extends Key>(name: string): Table<V, K> {
    return this.#options.local.table(name);
  }

  change<T>(apply: () => T, { allowStale = false }: ChangeOptions = {}): Promise<T> {
    if (this.#closed) return Promise.reject(this.#unavailable("is closed"));
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#waiting.push({ apply, allowStale, resolve: (value) => resolve(value as T), reject });
    this.#running ??= this.#run();
    return promise;
  }

  listen(listener: (tables: ReadonlySet<string>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async catchUp(): Promise<void> {
    if (this.#refusal !== undefined) throw new ApiError("unavailable", this.#refusal);
    const read = this.#next;
    let end: number;
    try {
      end = await this.#end();
    } catch (cause) {
      throw this.#unavailable("cannot be compared with the other nodes'", cause);
    }
    this.#ahead = end < read ? `has ${read} entries of its log, which ends at ${end}` : undefined;
    // What was read of it is gone: no change that is appended would be seen.
    if (this.#ahead !== undefined) throw this.#unavailable(this.#ahead);
    await this.#reach(end);
  }

  async recover(): Promise<void> {
    const { name } = this.#options;
    const until = performance.now() + AHEAD_MS_MAX;
    for (;;) {
      if (this.#closed) throw this.#unavailable("is closed");
      if (this.#refusal !== undefined) throw new StartError(this.#refusal);
      try {
        return await this.catchUp();
      } catch {
        const isLate = performance.now() > until;
        if (isLate && this.#ahead !== undefined) throw new StartError(`${name} ${this.#ahead}`);
        await Bun.sleep(RETRY_MS);
      }
    }
  }

  trouble(): string | undefined {
    const { local, log, name } = this.#options;
    const own = this.#ahead ?? (this.#isWhole ? undefined : "is being read");
    const trouble = this.#refusal ?? local.trouble() ?? log.trouble();
    return trouble ?? (own && `${name} ${own}`);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#rewriting.close();
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
      const isKnown = batch.every(({ allowStale }) => allowStale);
      // A refusal, too, must know all that was answered before.
      if (!isKnown || this.#refusal !== undefined) await this.catchUp();
      while (performance.now() < until) {
        if (!this.#isWhole) await this.catchUp();
        const { outcomes, writes, base } = await this.#rehearse(batch);
        if (base === undefined) continue;
        const set = { author: this.#author, number: this.#number++, base, writes };
        const entries = encodeChangeSet(set);
        if (lengthOf(entries) > CHANGE_SET_BYTES_MAX) return await this.#decideApart(batch);
        const isDecided =
          writes.length === 0 || (await this.#propose(set.number, entries, isKnown));
        if (isDecided) return settle(batch, outcomes);
      }
      throw this.#unavailable("is changed by others all the time");
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  /** Without a base when the view has not all rows. */
  async #rehearse(batch: readonly Waiting[]) {
    let base: number | undefined;
    const learn = () => {
      const { version, lacks } = this.#view.position();
      base = version;
      if (lacks !== undefined) base = undefined;
    };
    const applies = [learn, ...batch.map(({ apply }) => apply)];
    const { outcomes, writes } = await this.#options.local.dryRun(applies);
    return { outcomes: outcomes.slice(1), writes, base };
  }

  async #decideApart(batch: readonly Waiting[]): Promise<void> {
    if (batch.length === 1) {
      const message = `Expected a change of at most ${CHANGE_SET_BYTES_MAX} bytes`;
      throw new ApiError("too-large", message);
    }
    for (const one of batch) await this.#decide([one]);
  }

  /** Whether a change set took effect. Rejects when nobody knows yet whether it will. */
  async #propose(
    number: number,
    entries: readonly Uint8Array[],
    isKnown: boolean,
  ): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    promise.catch(() => {});
    this.#proposals.set(number, { resolve, reject, isKnown });
    try {
      const kept = this.#append(entries).then(() => promise);
      // It is seen in the log also when the answer is lost.
      return await this.#timely(Promise.race([promise, kept]));
    } catch (cause) {
      if (cause instanceof ApiError) throw cause;
      throw new ApiError("unavailable", "The change could not be stored");
    } finally {
      this.#proposals.delete(number);
    }
  }

  async #append(entries: readonly Uint8Array[]): Promise<void> {
    for (const entry of entries) await this.#options.log.append(entry);
  }

  /** Up to what a newer pixelmill wrote, which may mean anything. */
  async #takeKnown(entries: readonly LogEntry[]): Promise<void> {
    const until = entries.findIndex(({ bytes }) => newerFormat(bytes) !== undefined);
    if (until < 0) return await this.#take(entries);
    if (until > 0) await this.#take(entries.slice(0, until));
    const refusal = this.#refusalOf(entries[until]!);
    const isNews = this.#refusal === undefined;
    this.#refusal = refusal;
    if (isNews) this.#options.onNewer?.(refusal);
    for (const { refuse } of this.#behind.splice(0)) refuse();
    throw new Error(refusal);
  }

  #refusalOf({ position, bytes }: LogEntry): string {
    const expected = `expected entries of format ${SHARED_FORMAT} at most`;
    const got = `got format ${newerFormat(bytes)} at ${position}`;
    return `${this.#options.name}'s log: ${expected}, ${got}: a newer pixelmill wrote it`;
  }

  async #take(entries: readonly LogEntry[]): Promise<void> {
    const { place, own, news, isBroken } = await this.#view.apply(entries);
    this.#next = place.next;
    this.#isWhole = place.lacks === undefined;
    if (news.size > 0) for (const listener of this.#listeners) listener(news);
    for (const [number, isEffective] of own) this.#proposals.get(number)?.resolve(isEffective);
    // What became of the others was told in entries that are gone, perhaps.
    if (isBroken) for (const { reject } of this.#proposals.values()) reject(new Error("Unseen"));
    const behind = this.#behind;
    const isBehind = (position: number) => !this.#isWhole || position > this.#next;
    this.#behind = behind.filter(({ position }) => isBehind(position));
    for (const { position, resolve } of behind) if (!isBehind(position)) resolve();
    if (this.#isWhole && own.values().some((isEffective) => isEffective)) {
      this.#rewriting.runIfDue(place);
    }
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
    if (this.#isWhole && this.#next >= position) return Promise.resolve();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const refuse = () => reject(new ApiError("unavailable", this.#refusal ?? ""));
    this.#behind.push({ position, resolve, refuse });
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

const lengthOf = (entries: readonly Uint8Array[]) =>
  entries.reduce((sum, { length }) => sum + length, 0);

function settle(batch: readonly Waiting[], outcomes: DryRun["outcomes"]): void {
  outcomes.forEach((outcome, i) => {
    if (outcome.status === "fulfilled") batch[i]!.resolve(outcome.value);
    else batch[i]!.reject(outcome.reason);
  });
}
