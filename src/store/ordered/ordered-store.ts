import type { Key } from "lmdb";
import { InvariantError } from "../../assert.ts";
import { withTimeLimit } from "../../concurrency/time-limit.ts";
import { ApiError, StartError } from "../../errors.ts";
import type { ChangeOptions, Store } from "../store.ts";
import type { Table } from "../table.ts";
import { encodeChangeSet, entriesLength, newerFormat, newerRefusal } from "./change-set.ts";
import { LogCompaction, type LogCompactionOptions } from "./log-compaction.ts";
import { LogShortenedError, OrderedLogEnd } from "./log-end.ts";
import type { Follower, LogEntry } from "./ordered-log.ts";
import { type ApplyResult, OrderedView } from "./ordered-view.ts";
import {
  dryRunChanges,
  type PendingChange,
  pendingChange,
  refuseLate,
  resolveChanges,
  tooLargeError,
} from "./pending-change.ts";
import { Proposals } from "./proposals.ts";
import { passOf, Turns } from "./turns.ts";
import { ViewProgress } from "./view-progress.ts";

export interface OrderedStoreOptions extends Omit<LogCompactionOptions, "view" | "change"> {
  /** Called with the reason (a sentence) when this node stops at an entry in a newer format. */
  onNewer?(reason: string): void;
  /** Maximum size of a change set in bytes. Default 64 MiB. */
  changeSetBytesMax?: number;
  /** Time limit in ms of a call of `change`, and of a wait for log entries. Default 20 s. */
  changeMsMax?: number;
}

const DEFAULTS = { changeSetBytesMax: 64 << 20, changeMsMax: 20_000 };
/** Milliseconds for which `recover` retries while the log ends below this node's read position. */
const AHEAD_MS_MAX = 2_000;
/** Pause in milliseconds between two attempts of `recover` to catch up. */
const RETRY_MS = 250;

/**
 * Store of tables that several nodes change through a shared ordered log, without locks. A node
 * computes a change on its local copy of the tables (view). The change takes effect only if the
 * view had all earlier changes; otherwise the node runs the change again.
 */
export class OrderedStore implements Store {
  readonly #options: OrderedStoreOptions & typeof DEFAULTS;
  readonly #author = crypto.randomUUID();
  readonly #view: OrderedView;
  readonly #compaction: LogCompaction;
  readonly #follower: Follower;
  readonly #proposals = new Proposals();
  readonly #turns = new Turns(this.#author);
  readonly #listeners = new Set<(tables: ReadonlySet<string>) => void>();
  readonly #waiting: PendingChange[] = [];
  #running: Promise<void> | undefined;
  readonly #logEnd: OrderedLogEnd;
  readonly #progress: ViewProgress;
  /** Sentence that says why this node has stopped reading the log; else undefined. */
  #refusal: string | undefined;
  #closed = false;
  /** Whether an error of reading the log was logged since the last successful read. */
  #isCauseLogged = false;

  constructor(options: OrderedStoreOptions) {
    this.#options = { ...DEFAULTS, ...options };
    const { local, log } = options;
    // Tables cannot be opened within a transaction, and a compaction reads all tables.
    for (const name of local.tables()) local.table(name);
    const isKnown = (number: number) => this.#proposals.isKnown(number);
    this.#view = new OrderedView({ ...options, author: this.#author, isKnown });
    this.#compaction = new LogCompaction({
      ...options,
      view: this.#view,
      change: (apply, how) => this.change(apply, how),
    });
    const { next, lacks } = this.#view.position();
    this.#progress = new ViewProgress(next, lacks === undefined);
    this.#logEnd = new OrderedLogEnd(log, this.#progress);
    this.#follower = log.follow(next, (entries) => this.#takeKnown(entries));
  }

  table<V, K extends Key>(name: string): Table<V, K> {
    return this.#options.local.table(name);
  }

  change<T>(apply: () => T, { allowStale = false }: ChangeOptions = {}): Promise<T> {
    if (this.#closed) return Promise.reject(this.#unavailable("is closed"));
    if (!allowStale && this.#logEnd.isOverdue) return this.catchUp().then(() => this.change(apply));
    const { name, changeMsMax: msMax } = this.#options;
    const { change, promise } = pendingChange(apply, { allowStale, msMax, name });
    this.#waiting.push(change);
    this.#running ??= this.#run();
    return promise;
  }

  listen(listener: (tables: ReadonlySet<string>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async catchUp(): Promise<void> {
    if (this.#refusal !== undefined) throw new ApiError("unavailable", this.#refusal);
    let end: number;
    try {
      end = await this.#logEnd.read();
      this.#isCauseLogged = false;
    } catch (cause) {
      this.#stopIfShortened(cause);
      throw this.#unavailable("cannot be read: the brokers do not confirm the newest state", cause);
    }
    await this.#timely(this.#progress.reach(end));
    if (this.#progress.isComplete) this.#compaction.runIfDue(this.#view.position(), "read");
  }

  /**
   * Waits without a time limit until the view has applied all entries that were in the log at the
   * call. Rejects with an `unavailable` error when the store is closed, and with `StartError` when
   * the log has lost entries or has entries of a newer release.
   */
  async recover(): Promise<void> {
    const until = performance.now() + AHEAD_MS_MAX;
    for (;;) {
      if (this.#closed) throw this.#unavailable("is closed");
      if (this.#refusal !== undefined) throw new StartError(this.#refusal);
      try {
        await this.#logEnd.expectKnown();
        return await this.catchUp();
      } catch (error) {
        // The leader may not have heard yet of the newest entries that this node has read.
        const isShort = error instanceof LogShortenedError && performance.now() > until;
        if (isShort) throw new StartError(`${this.#options.name} ${error.message}`);
        await Bun.sleep(RETRY_MS);
      }
    }
  }

  trouble(): string | undefined {
    const { local, log, name } = this.#options;
    const trouble = this.#refusal ?? local.trouble() ?? log.trouble();
    return trouble ?? (this.#progress.isComplete ? undefined : `${name} is being read`);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#turns.close();
    await this.#compaction.close();
    await this.#running;
    await this.#follower.close();
    this.#progress.fail(this.#unavailable("is closed"));
    await this.#options.local.close();
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) await this.#decide(this.#waiting.splice(0));
    this.#running = undefined;
    // A pass that is lost costs the other nodes a turn.
    if (this.#turns.isAwaited) await this.#logEnd.append(passOf(this.#author)).catch(() => {});
  }

  /**
   * Commits the calls of `change` in `first` as one change set, and repeats this until a set takes
   * effect. Each attempt adds the calls that have arrived meanwhile, unless `isAlone`.
   */
  async #decide(first: readonly PendingChange[], isAlone = false): Promise<void> {
    const { local, changeSetBytesMax } = this.#options;
    let batch = first;
    // Whether the view has all changes that were acknowledged before the calls.
    let isCurrent = false;
    try {
      for (let n = 1; batch.length > 0; batch = refuseLate(batch, this.#options.name, n++)) {
        if (!this.#canRead()) await this.catchUp();
        await this.#turns.own();
        const joining = isAlone ? [] : this.#waiting.splice(0);
        if (joining.length > 0) isCurrent = false;
        batch = [...batch, ...joining];
        const isKnown = batch.every(({ allowStale }) => allowStale);
        const { outcomes, writes, base } = await dryRunChanges(local, this.#view, batch);
        if (base === undefined) continue;
        // A change set that takes effect shows that the view was current. Without writes, such as
        // when an `apply` throws, the view must be compared with the log.
        if (writes.length === 0 && !isKnown && !isCurrent) {
          await this.catchUp();
          isCurrent = true;
          continue;
        }
        const set = { author: this.#author, number: this.#proposals.next, base, writes };
        const entries = encodeChangeSet(set);
        if (entriesLength(entries) > changeSetBytesMax) return await this.#decideApart(batch);
        const isDecided =
          writes.length === 0 || (await this.#propose(set.number, entries, isKnown));
        if (isDecided) return resolveChanges(batch, outcomes);
        isCurrent = true;
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  async #decideApart(batch: readonly PendingChange[]): Promise<void> {
    if (batch.length === 1) throw tooLargeError(this.#options.changeSetBytesMax);
    for (const one of batch) await this.#decide([one], true);
  }

  /**
   * Appends a change set to the log. Resolves when its outcome is known: true if it took effect.
   * Rejects if the outcome is still unknown after `changeMsMax` milliseconds.
   */
  async #propose(
    number: number,
    entries: readonly Uint8Array[],
    isKnown: boolean,
  ): Promise<boolean> {
    const outcome = this.#proposals.add(number, isKnown);
    try {
      const kept = this.#logEnd.appendAll(entries).then(() => outcome);
      // The set is read from the log even when the response to the append is lost.
      return await this.#timely(Promise.race([outcome, kept]));
    } catch (cause) {
      if (cause instanceof ApiError) throw cause;
      this.#stopIfShortened(cause);
      throw new ApiError("unavailable", "The change could not be stored");
    } finally {
      this.#proposals.delete(number);
    }
  }

  /** Applies log entries. Stops reading the log and throws at the first entry in a newer format. */
  async #takeKnown(entries: readonly LogEntry[]): Promise<void> {
    const until = entries.findIndex(({ bytes }) => newerFormat(bytes) !== undefined);
    const known = until < 0 ? entries : entries.slice(0, until);
    if (known.length > 0) await this.#take(known);
    if (until < 0) return;
    const refusal = newerRefusal(this.#options.name, entries[until]!);
    if (this.#refusal === undefined) this.#options.onNewer?.(refusal);
    this.#stopReading(refusal);
    throw new Error(refusal);
  }

  /** Whether the view has all rows, and this node can read further log entries. */
  #canRead(): boolean {
    const isRefused = this.#refusal !== undefined || this.#options.log.trouble() !== undefined;
    return this.#progress.isComplete && !isRefused;
  }

  /**
   * Stops reading the log for good, and throws, if `error` says that the log has lost entries that
   * this node has read. Without this stop, the node would miss new entries at the lost positions.
   */
  #stopIfShortened(error: unknown): void {
    if (!(error instanceof LogShortenedError)) return;
    this.#stopReading(`${this.#options.name} ${error.message}`);
    throw new ApiError("unavailable", this.#refusal!);
  }

  /** Stops reading the log for good: all calls of `catchUp` reject with `refusal`. */
  #stopReading(refusal: string): void {
    this.#refusal = refusal;
    this.#progress.fail(new ApiError("unavailable", refusal));
  }

  async #take(entries: readonly LogEntry[]): Promise<void> {
    const { position, own, outcomes, written, hasGap } = await this.#apply(entries);
    this.#progress.advance(position.next, position.lacks === undefined);
    if (written.size > 0) for (const listener of this.#listeners) listener(written);
    this.#turns.take(outcomes);
    this.#proposals.settle(own);
    // The deleted entries may have held the outcome of the other proposals.
    if (hasGap) this.#proposals.rejectAll(new Error("The entry was deleted before it was read"));
    const hasChanged = this.#progress.isComplete && own.values().some(Boolean);
    if (hasChanged) this.#compaction.runIfDue(position, "change");
  }

  async #apply(entries: readonly LogEntry[]): Promise<ApplyResult> {
    const { name, logger } = this.#options;
    try {
      return await this.#view.apply(entries);
    } catch (error) {
      if (!(error instanceof InvariantError)) throw error;
      if (this.#refusal === undefined) logger.error({ err: error }, "view stopped");
      this.#stopReading(`${name} has stopped: ${error.message}`);
      throw error;
    }
  }

  #timely<T>(promise: Promise<T>): Promise<T> {
    const late = () => this.#unavailable("cannot be read yet: changes of other nodes are missing");
    return withTimeLimit(promise, this.#options.changeMsMax, late);
  }

  #unavailable(state: string, cause?: unknown): ApiError {
    const { name, logger } = this.#options;
    // A cause that lasts concerns each request, and would fill the log.
    if (cause !== undefined && !this.#isCauseLogged)
      logger.warn({ err: cause }, `${name} ${state}`);
    this.#isCauseLogged ||= cause !== undefined;
    return new ApiError("unavailable", `${name} ${state}`);
  }
}
