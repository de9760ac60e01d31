import { ABORT, asBinary, type Database, type Key, type RangeOptions } from "lmdb";
import { describeDiskFault } from "../../disk/disk-fault.ts";
import { diskReserve } from "../../disk/reserve.ts";
import { makeDirectory, syncPath } from "../../disk/sync.ts";
import { ApiError } from "../../errors.ts";
import type { Logger } from "../../observe/log.ts";
import { type DryRun, encodeWrite, lastWrites, type RowWrite } from "../row-write.ts";
import type { LocalStore } from "../store.ts";
import { type Table, tableOf } from "../table.ts";
import { commitFault, type Environment, isAlive, openEnvironment, PROBE } from "./environment.ts";
import { acquireShared, dataFileOf, directoryOf, markIntact } from "./store-files.ts";

export interface StoreOptions {
  /** Path of the LMDB file or, if the path has no extension, of the directory with that file. */
  path: string;
  /** Name of the store in messages, such as "The catalog" in "The catalog is closed". */
  name: string;
  /**
   * Whether the store is a local copy (view) of a shared log. If so, commits return before the data
   * is on disk. If a crash of the machine damages the file, the view reads the log again.
   */
  isView?: boolean;
  /**
   * Bytes of disk space to reserve after the end of the file, so that changes can still be stored
   * when the disk is full. Default 0.
   */
  reserveBytes?: number;
  logger: Logger;
}

/** Pause in milliseconds between two test writes to the disk after a failed commit. */
const PROBE_MS = 1_000;

interface Waiting extends PromiseWithResolvers<unknown> {
  apply: () => unknown;
}

/**
 * Opens a store in an LMDB file, and creates the file and its directory if they are missing.
 * Several processes can have it open. Throws `StartError` if the file is torn (has pages from
 * different points in time) or stays locked exclusively.
 */
export function openStore(options: StoreOptions): LocalStore {
  return new LmdbStore(options);
}

/**
 * A store in an LMDB file. Commits are never concurrent, because a failed commit can make the LMDB
 * environment unusable, and promises of later transactions would then never resolve. The store
 * opens an unusable environment again.
 */
class LmdbStore implements LocalStore {
  readonly #release: () => void;
  readonly #keepReserve: () => void;
  readonly #names = new Set<string>();
  /** The open environment; undefined while it cannot be opened, and after `close`. */
  #environment: Environment | undefined;
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;
  #changing = false;
  /**
   * Writes recorded during the current dry run, in which functions run in a transaction that is
   * rolled back. The field is undefined while no dry run is in progress.
   */
  #dryWrites: RowWrite[] | undefined;
  /**
   * Whether a row was written since the last commit. If not, the next commit does not use the disk.
   * Its success then does not show that writes succeed.
   */
  #wrote = false;
  #closed = false;
  /** Reason why writes fail; else undefined. While set, a test write is made every `PROBE_MS`. */
  #failure: string | undefined;
  #probe: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly options: StoreOptions) {
    // A store holds secrets and personal data: only the operator may read it.
    makeDirectory(directoryOf(options.path), 0o700);
    this.#release = acquireShared(options.path);
    this.#environment = this.#open();
    markIntact(options.path);
    syncPath(directoryOf(options.path));
    this.#keepReserve = diskReserve(dataFileOf(options.path), options);
    this.#keepReserve();
  }

  table<V, K extends Key>(name: string): Table<V, K> {
    if (!this.#names.has(name)) {
      // LMDB forgets a table that was opened in a transaction that is rolled back.
      if (this.#changing) throw new Error(`Expected ${name} to be opened before a transaction`);
      this.#names.add(name);
    }
    this.#opened().table(name);
    const note = (key: K, ...value: [V?]) => {
      if (!this.#changing) throw new Error(`Expected a change of ${name} within a transaction`);
      if (this.#dryWrites === undefined) {
        this.#wrote = true;
        return undefined;
      }
      const write = encodeWrite(name, key, value);
      this.#dryWrites.push(write);
      return write.value;
    };
    return tableOf(() => this.#opened().table(name) as Database<V, K>, note);
  }

  change<T>(apply: () => T): Promise<T> {
    // The promise of a write to a closed environment never resolves.
    if (this.#closed) return Promise.reject(this.#unavailable("is closed"));
    return this.#put(apply);
  }

  async catchUp(): Promise<void> {}

  listen(): () => void {
    return () => {};
  }

  async dryRun(applies: readonly (() => unknown)[]): Promise<DryRun> {
    let rehearsal: DryRun = { outcomes: [], writes: [] };
    await this.change(() => {
      this.#dryWrites = [];
      try {
        const outcomes = applies.map((apply) => this.#runDry(apply));
        rehearsal = { outcomes, writes: lastWrites(this.#dryWrites) };
      } finally {
        this.#dryWrites = undefined;
      }
      return ABORT;
    });
    return rehearsal;
  }

  tables(): string[] {
    const names = [...this.#opened().root.getKeys()].map(String);
    return names.filter((name) => name !== PROBE).sort();
  }

  *rows(table: string, range: RangeOptions) {
    const opened = this.#opened().table(table);
    for (const key of opened.getKeys(range)) yield { key, value: opened.getBinary(key)! };
  }

  write(write: RowWrite): void {
    const { table, key, value } = write;
    if (!this.#changing) throw new Error(`Expected a change of ${table} within a transaction`);
    if (this.#dryWrites?.push(write)) return;
    this.#wrote = true;
    const opened = this.#opened().table(table);
    if (value === undefined) void opened.remove(key);
    else void opened.put(key, asBinary(value as Buffer));
  }

  has({ table, key, value }: RowWrite): boolean {
    const stored = this.#opened().table(table).getBinaryFast(key);
    return value === undefined ? stored === undefined : (stored?.equals(value) ?? false);
  }

  trouble(): string | undefined {
    return this.#failure && `${this.options.name} cannot be written: ${this.#failure}`;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#probe);
    await this.#running;
    // A read of an environment that is being closed ends the process.
    const environment = this.#environment;
    this.#environment = undefined;
    await environment?.root.close();
    this.#release();
  }

  #put<T>(apply: () => T): Promise<T> {
    const waiting = { apply, ...Promise.withResolvers<unknown>() };
    this.#waiting.push(waiting);
    this.#running ??= this.#run();
    return waiting.promise as Promise<T>;
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      await this.#commit(batch);
    }
    this.#running = undefined;
  }

  async #commit(batch: readonly Waiting[]): Promise<void> {
    const environment = this.#reopened();
    if (environment === undefined) {
      for (const { reject } of batch) reject(this.#unavailable("cannot be opened"));
      return;
    }
    const commits = batch.map(({ apply }) => environment.transact(() => this.#apply(apply)));
    const outcomes = await Promise.allSettled(commits);
    const faults = outcomes.map((outcome) => commitFault(outcome));
    const fault = faults.find((found) => found !== undefined);
    if (fault !== undefined) await this.#fail(environment, fault);
    else if (this.#wrote && outcomes.some(({ status }) => status === "fulfilled")) {
      this.#setFailure(undefined);
      this.#keepReserve();
    }
    this.#wrote = false;
    outcomes.forEach((outcome, i) => {
      if (outcome.status === "fulfilled") batch[i]!.resolve(outcome.value);
      else if (faults[i] === undefined) batch[i]!.reject(outcome.reason);
      else batch[i]!.reject(new ApiError("unavailable", "The change could not be stored"));
    });
  }

  #apply(apply: () => unknown): unknown {
    this.#changing = true;
    try {
      return apply();
    } finally {
      this.#changing = false;
    }
  }

  /**
   * Runs one function of a dry run in a nested transaction. Returns its result or the error that it
   * threw. Throws errors of LMDB and of the disk.
   */
  #runDry(apply: () => unknown): PromiseSettledResult<unknown> {
    const before = this.#dryWrites!.length;
    try {
      const value = this.#opened().root.childTransaction(apply);
      return { status: "fulfilled", value };
    } catch (reason) {
      const outcome = { status: "rejected", reason } as const;
      if (commitFault(outcome) !== undefined) throw reason;
      this.#dryWrites!.length = before;
      return outcome;
    }
  }

  /**
   * Handles a failed commit: logs the reason, and opens the environment again if it is unusable.
   */
  async #fail(environment: Environment, fault: Promise<unknown>): Promise<void> {
    const err = await fault;
    if (this.#failure === undefined) {
      this.options.logger.error({ err }, `${this.options.name} cannot be written`);
    }
    this.#setFailure(err);
    if (isAlive(environment)) return;
    this.#environment = undefined;
    await environment.root.close();
    this.#reopened();
  }

  /** Records whether the last write succeeded. `error` is the write's error; undefined if none. */
  #setFailure(error: unknown): void {
    const { logger, name, path } = this.options;
    clearTimeout(this.#probe);
    const isWell = error === undefined;
    if (this.#failure !== undefined && isWell) logger.info(`${name} can be written again`);
    this.#failure = isWell ? undefined : describeDiskFault(directoryOf(path), error);
    if (isWell || this.#closed) return;
    this.#probe = setTimeout(() => {
      const write = () => {
        this.#wrote = true;
        void this.#environment?.root.put(PROBE, Date.now());
      };
      this.#put(write).catch(() => {});
    }, PROBE_MS);
  }

  #open(): Environment {
    const { path, isView } = this.options;
    return openEnvironment(path, this.#names, { isView });
  }

  /** Returns the environment, opened again if it was closed; undefined when that fails. */
  #reopened(): Environment | undefined {
    if (this.#environment !== undefined) return this.#environment;
    try {
      this.#environment = this.#open();
    } catch (err) {
      this.options.logger.error({ err }, `${this.options.name} cannot be opened again`);
      this.#setFailure(err);
    }
    return this.#environment;
  }

  #opened(): Environment {
    if (this.#environment !== undefined) return this.#environment;
    throw this.#unavailable(this.#closed ? "is closed" : "is being opened again");
  }

  #unavailable(state: string): ApiError {
    return new ApiError("unavailable", `${this.options.name} ${state}`);
  }
}
