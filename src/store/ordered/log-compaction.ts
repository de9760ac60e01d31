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
  /** A log is rewritten beyond so much, and so many times what the last walk put again. */
  min: RowsAndBytes;
  factor: number;
  /** What one change puts again: others wait for no more. */
  portion: RowsAndBytes;
  /** Of a walk without a step for so long, the walker is taken to be gone. */
  stalledMs: number;
  /**
   * How long entries stay that nobody needs any more: a node that is a little behind finds them,
   * and learns what became of its own.
   */
  keptMs: number;
}

/** A log of this length is read in a second or two. */
const BOUNDS: CompactionBounds = {
  min: { rows: 10_000, bytes: 16 << 20 },
  factor: 4,
  portion: { rows: 500, bytes: 128 << 10 },
  stalledMs: 10_000,
  keptMs: 30_000,
};

/** Until a walk is tried again that the brokers refused. */
const RETRY_MS = 5_000;

export interface LogCompactionOptions {
  local: LocalStore;
  view: OrderedView;
  log: OrderedLog;
  name: string;
  logger: Logger;
  change: Store["change"];
  bounds?: CompactionBounds;
}

/**
 * Keeps an ordered log from growing without bound. When it has become much longer than what is in
 * the store, one node walks over all rows and puts them again, by ordinary changes; then what came
 * before the walk is deleted. Nobody is stopped meanwhile.
 */
export class LogCompaction {
  readonly #options: LogCompactionOptions;
  readonly #bounds: CompactionBounds;
  #running: Promise<void> | undefined;
  /** The walk that this node has begun or taken over. */
  #own: string | undefined;
  /** The walk as it was last seen, and since when it is as it is. */
  #seen: { step: string; since: number } | undefined;
  #trimmed = 0;
  /** The first entry that is needed, as of some time ago, and when that was. */
  #first: { position: number; since: number } | undefined;
  #notBefore = 0;
  #isClosed = false;

  constructor(options: LogCompactionOptions) {
    this.#options = options;
    this.#bounds = options.bounds ?? BOUNDS;
  }

  /**
   * A change of this node took effect. Nodes that change nothing have the least to put again: who
   * changes most walks, and is in nobody's way.
   */
  runIfDue(place: ViewPosition): void {
    if (this.#running !== undefined || this.#isClosed) return;
    const step = performance.now() < this.#notBefore ? undefined : this.#wanted(place);
    if (step === undefined) return;
    const { logger, name } = this.#options;
    this.#running = (step === "walk" ? this.#walk() : this.#trim())
      .catch((error) => {
        this.#notBefore = performance.now() + RETRY_MS;
        if (this.#isClosed) return;
        logger.warn({ reason: messageOf(error) }, `${name} cannot be rewritten at the moment`);
      })
      .finally(() => {
        this.#running = undefined;
      });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
  }

  #wanted({ walk, first, next, bytes }: ViewPosition): "walk" | "trim" | undefined {
    if (this.#isPast(first)) return "trim";
    if (walk !== undefined) {
      return this.#own !== undefined || this.#isStalled() ? "walk" : undefined;
    }
    const { min, factor } = this.#bounds;
    const last = this.#options.view.compaction();
    const isLong = next - first > min.rows + factor * (last?.rows ?? 0);
    return isLong || bytes > min.bytes + factor * (last?.bytes ?? 0) ? "walk" : undefined;
  }

  /** Whether entries have stayed for long enough that are not needed since a walk has ended. */
  #isPast(first: number): boolean {
    if (first <= this.#trimmed) return false;
    const now = performance.now();
    this.#first ??= { position: first, since: now };
    return now - this.#first.since >= this.#bounds.keptMs;
  }

  #isStalled(): boolean {
    const { id, rows } = this.#options.view.compaction()!;
    const step = `${id} ${rows}`;
    const now = performance.now();
    if (this.#seen?.step !== step) this.#seen = { step, since: now };
    return now - this.#seen.since > this.#bounds.stalledMs;
  }

  async #walk(): Promise<void> {
    const { change } = this.#options;
    const id = await change(() => this.#begin(), { allowStale: true });
    this.#own = id;
    if (id === undefined) return;
    for (let isOver = false; !isOver; ) {
      if (this.#isClosed) return;
      const startedAt = performance.now();
      isOver = await change(() => this.#step(id), { allowStale: true });
      // Half of the time is for others.
      await Bun.sleep(Math.ceil(performance.now() - startedAt));
    }
    this.#own = undefined;
  }

  async #trim(): Promise<void> {
    const { position } = this.#first!;
    await this.#options.log.trim(position);
    this.#trimmed = position;
    this.#first = undefined;
  }

  /** Within a change. Name of the walk to go on with; undefined for one that another node is at. */
  #begin(): string | undefined {
    const { local, view } = this.#options;
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

  /** Within a change. Puts a portion again; returns whether that was the last. */
  #step(id: string): boolean {
    const { local, view } = this.#options;
    const walk = view.compaction();
    if (walk?.id !== id || walk.isDone) return true;
    const { writes, bytes, next } = rowsAfter(local, walk.at, this.#bounds.portion);
    for (const write of writes) local.write(write);
    const walked: CompactionProgress = {
      ...{ id, rows: walk.rows + writes.length, bytes: walk.bytes + bytes },
      ...{ isDone: next === undefined, ...(next && { at: next }) },
    };
    local.table<CompactionProgress, string>(COMPACTION_TABLE).put(COMPACTION_KEY, walked);
    return walked.isDone;
  }
}
