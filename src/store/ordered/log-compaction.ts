import { assert } from "../../assert.ts";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../observe/log.ts";
import type { LocalStore, Store } from "../store.ts";
import {
  COMPACTION_KEY,
  COMPACTION_TABLE,
  type CompactionProgress,
  type RowsAndBytes,
  rowsAfter,
} from "./compaction-progress.ts";
import type { OrderedLog } from "./ordered-log.ts";
import type { OrderedView, ViewPosition } from "./ordered-view.ts";

export interface CompactionBounds {
  /**
   * Fixed parts of two limits of the log. A compaction starts when the log exceeds either:
   * - `min.rows` entries, plus `factor` times the number of rows that the last compaction appended
   * - `min.bytes` bytes, plus `factor` times the size of these rows
   */
  min: RowsAndBytes;
  factor: number;
  /**
   * Maximum number of rows, and of bytes, that one step of a compaction appends. Each step is a
   * transaction, and other transactions can run between two steps.
   */
  portion: RowsAndBytes;
  /**
   * Milliseconds without progress after which a compaction counts as stalled. Another node then
   * continues it.
   */
  stalledMs: number;
  /**
   * Milliseconds for which log entries that a compaction has replaced stay in the log. In this
   * time, slow nodes can still learn from these entries whether their own change sets took effect.
   */
  keptMs: number;
}

/** Default bounds of compaction. With them, a node reads the whole log in about two seconds. */
const BOUNDS: CompactionBounds = {
  min: { rows: 10_000, bytes: 16 << 20 },
  factor: 4,
  portion: { rows: 500, bytes: 128 << 10 },
  stalledMs: 10_000,
  keptMs: 30_000,
};

/**
 * Pause after a step of a compaction, as a multiple of the step's duration, and at most
 * `PAUSE_MS_MAX` milliseconds. Pixel requests and changes of the store wait for the pause, because
 * a step keeps all nodes and brokers busy. The pause must stay far below `stalledMs`, after which
 * another node would continue the compaction.
 */
const PAUSE_STEPS = 4;
const PAUSE_MS_MAX = 1_000;
/** Pause in milliseconds after a failed compaction, before the next attempt. */
const RETRY_MS = 5_000;

export interface LogCompactionOptions {
  /**
   * This node's local copy (view) of the store's tables, computed from the log. When the store is
   * opened, it is empty or has the rows that an earlier run left.
   */
  local: LocalStore;
  view: OrderedView;
  log: OrderedLog;
  /** Name of the store in messages, such as "The catalog" in "The catalog is closed". */
  name: string;
  logger: Logger;
  change: Store["change"];
  /**
   * Bounds of compaction. The default is `BOUNDS`, with which a node reads the whole log in about
   * two seconds.
   */
  bounds?: CompactionBounds;
}

/**
 * Keeps an ordered log short. When the log is much longer than the rows of the store, one node
 * appends all rows again (a compaction), and then deletes the older entries. Other transactions can
 * run meanwhile.
 */
export class LogCompaction {
  readonly #bounds: CompactionBounds;
  #running: Promise<void> | undefined;
  /** Id of the compaction that this node runs; undefined while it runs none. */
  #own: string | undefined;
  /**
   * The latest known step of a compaction by any node (the compaction's id and the number of rows
   * appended), and the time (`performance.now()`) when this node first saw it. The field is
   * undefined before the first check for a stalled compaction.
   */
  #seen: { step: string; since: number } | undefined;
  /** Log position below which this node has deleted the entries; 0 before it has deleted any. */
  #trimmed = 0;
  /**
   * Log position below which the entries are to be deleted, because a compaction has replaced them.
   * They are deleted `keptMs` after the time `since` (`performance.now()`). The field is undefined
   * if no deletion is pending.
   */
  #first: { position: number; since: number } | undefined;
  /** Time (`performance.now()`) before which no compaction or deletion starts, after one failed. */
  #notBefore = 0;
  #isClosed = false;

  constructor(private readonly options: LogCompactionOptions) {
    this.#bounds = options.bounds ?? BOUNDS;
  }

  /**
   * Starts a background task if one is due: a compaction, or the deletion of log entries that it
   * has replaced. After a read of the log's end, a compaction starts only if at least `min.rows`
   * entries follow the last change set that took effect.
   */
  runIfDue(place: ViewPosition, after: "change" | "read"): void {
    if (this.#running !== undefined || this.#isClosed) return;
    const step = performance.now() < this.#notBefore ? undefined : this.#wanted(place);
    if (step === undefined) return;
    const isUnchanged = place.next - place.version > this.#bounds.min.rows;
    if (step === "compact" && after === "read" && !isUnchanged) return;
    const { logger, name } = this.options;
    this.#running = (step === "compact" ? this.#compact() : this.#trim())
      .catch((error) => {
        this.#notBefore = performance.now() + RETRY_MS;
        if (this.#isClosed) return;
        logger.warn({ reason: messageOf(error) }, `${name} compaction failed`);
      })
      .finally(() => {
        this.#running = undefined;
      });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
  }

  #wanted({ walk, first, next, bytes }: ViewPosition): "compact" | "trim" | undefined {
    if (this.#isPast(first)) return "trim";
    if (walk !== undefined) {
      return this.#own !== undefined || this.#isStalled() ? "compact" : undefined;
    }
    const { min, factor } = this.#bounds;
    const last = this.options.view.compaction();
    const isLong = next - first > min.rows + factor * (last?.rows ?? 0);
    return isLong || bytes > min.bytes + factor * (last?.bytes ?? 0) ? "compact" : undefined;
  }

  /**
   * Whether to delete the log entries below position `first`, which a compaction has replaced.
   * False if this node has deleted them already, or has known for less than `keptMs` that they are
   * replaced.
   */
  #isPast(first: number): boolean {
    if (first <= this.#trimmed) return false;
    const now = performance.now();
    this.#first ??= { position: first, since: now };
    return now - this.#first.since >= this.#bounds.keptMs;
  }

  #isStalled(): boolean {
    const { id, rows } = this.options.view.compaction()!;
    const step = `${id} ${rows}`;
    const now = performance.now();
    if (this.#seen?.step !== step) this.#seen = { step, since: now };
    return now - this.#seen.since > this.#bounds.stalledMs;
  }

  async #compact(): Promise<void> {
    const { change } = this.options;
    const id = await change(() => this.#begin(), { allowStale: true });
    this.#own = id;
    if (id === undefined) return;
    for (let isOver = false; !isOver; ) {
      if (this.#isClosed) return;
      const startedAt = performance.now();
      isOver = await change(() => this.#step(id), { allowStale: true });
      const tookMs = performance.now() - startedAt;
      await Bun.sleep(Math.min(Math.ceil(PAUSE_STEPS * tookMs), PAUSE_MS_MAX));
    }
    this.#own = undefined;
  }

  async #trim(): Promise<void> {
    const { position } = this.#first!;
    const { first } = this.options.view.position();
    assert(position <= first, "A log is trimmed only below its last complete compaction");
    await this.options.log.trim(position);
    this.#trimmed = position;
    this.#first = undefined;
  }

  /**
   * Returns the id of the compaction that this node has to run: a new one if none is in progress,
   * or the one in progress if it is this node's own or stalled; otherwise undefined. Must be called
   * within a transaction.
   */
  #begin(): string | undefined {
    const { local, view } = this.options;
    const walk = view.compaction();
    if (walk !== undefined && !walk.isDone) {
      return walk.id === this.#own || this.#isStalled() ? walk.id : undefined;
    }
    const id = crypto.randomUUID();
    local
      .table<CompactionProgress, string>(COMPACTION_TABLE)
      .put(COMPACTION_KEY, { id, rows: 0, bytes: 0, isDone: false });
    return id;
  }

  /**
   * Appends the next rows of the compaction `id` to the log again. Must run within a transaction.
   * Returns whether the compaction has ended.
   */
  #step(id: string): boolean {
    const { local, view } = this.options;
    const walk = view.compaction();
    if (walk?.id !== id || walk.isDone) return true;
    const { writes, bytes, next } = rowsAfter(local, walk.at, this.#bounds.portion);
    for (const write of writes) local.write(write);
    const progress: CompactionProgress = {
      id,
      rows: walk.rows + writes.length,
      bytes: walk.bytes + bytes,
      isDone: next === undefined,
      ...(next && { at: next }),
    };
    local.table<CompactionProgress, string>(COMPACTION_TABLE).put(COMPACTION_KEY, progress);
    return progress.isDone;
  }
}
