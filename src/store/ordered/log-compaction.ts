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
  /** A compaction starts when the log is longer than `min` + `factor` × the last compaction. */
  min: RowsAndBytes;
  factor: number;
  /** Rows that one change of a compaction writes; other changes can run between two of these. */
  portion: RowsAndBytes;
  /** Time in milliseconds without progress after which another node takes over a compaction. */
  stalledMs: number;
  /**
   * Time in milliseconds for which the log keeps entries after a compaction replaced them, so that
   * nodes that lag can read them and learn the outcome of their own change sets.
   */
  keptMs: number;
}

/** Default bounds. A log within them is read in about two seconds. */
const BOUNDS: CompactionBounds = {
  min: { rows: 10_000, bytes: 16 << 20 },
  factor: 4,
  portion: { rows: 500, bytes: 128 << 10 },
  stalledMs: 10_000,
  keptMs: 30_000,
};

/** Pause after a failed compaction in milliseconds. */
const RETRY_MS = 5_000;

export interface LogCompactionOptions {
  /** The view of the log on this node: empty, or left by an earlier run. */
  local: LocalStore;
  view: OrderedView;
  log: OrderedLog;
  /** Name of the store in messages, as in "The catalog is closed". */
  name: string;
  logger: Logger;
  change: Store["change"];
  /** By default those for a log that is read in a second or two. */
  bounds?: CompactionBounds;
}

/**
 * Limits the length of an ordered log. When the log is much longer than the rows of the store, one
 * node writes all rows again by ordinary change sets, and then deletes the entries before them.
 * Other changes can be made at the same time.
 */
export class LogCompaction {
  readonly #options: LogCompactionOptions;
  readonly #bounds: CompactionBounds;
  #running: Promise<void> | undefined;
  /** Id of the compaction that this node has started or taken over. */
  #own: string | undefined;
  /** Last observed progress of any node's compaction, and when it was first observed. */
  #seen: { step: string; since: number } | undefined;
  #trimmed = 0;
  /** Position below which entries are unneeded, and since when this node knows that. */
  #first: { position: number; since: number } | undefined;
  #notBefore = 0;
  #isClosed = false;

  constructor(options: LogCompactionOptions) {
    this.#options = options;
    this.#bounds = options.bounds ?? BOUNDS;
  }

  /**
   * Starts a compaction or deletes old entries in the background when due. It is called after each
   * effective change of this node, so that mostly the node with the most changes compacts. Its
   * compaction conflicts rarely with the changes of other nodes.
   */
  runIfDue(place: ViewPosition): void {
    if (this.#running !== undefined || this.#isClosed) return;
    const step = performance.now() < this.#notBefore ? undefined : this.#wanted(place);
    if (step === undefined) return;
    const { logger, name } = this.#options;
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
    const last = this.#options.view.compaction();
    const isLong = next - first > min.rows + factor * (last?.rows ?? 0);
    return isLong || bytes > min.bytes + factor * (last?.bytes ?? 0) ? "compact" : undefined;
  }

  /** Whether entries below position `first` can be deleted: they have been kept for `keptMs`. */
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

  async #compact(): Promise<void> {
    const { change } = this.#options;
    const id = await change(() => this.#begin(), { allowStale: true });
    this.#own = id;
    if (id === undefined) return;
    for (let isOver = false; !isOver; ) {
      if (this.#isClosed) return;
      const startedAt = performance.now();
      isOver = await change(() => this.#step(id), { allowStale: true });
      // A pause as long as the step leaves half of the time to other changes.
      await Bun.sleep(Math.ceil(performance.now() - startedAt));
    }
    this.#own = undefined;
  }

  async #trim(): Promise<void> {
    const { position } = this.#first!;
    const { first } = this.#options.view.position();
    assert(position <= first, "A log is trimmed only below its last complete compaction");
    await this.#options.log.trim(position);
    this.#trimmed = position;
    this.#first = undefined;
  }

  /**
   * Starts or takes over a compaction, within a change. Returns its id, or undefined while another
   * node runs one.
   */
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

  /** Writes the next rows again, within a change. Returns whether the compaction is over. */
  #step(id: string): boolean {
    const { local, view } = this.#options;
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
