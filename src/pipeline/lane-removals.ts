import { unlessAborted } from "../concurrency/unless-aborted.ts";
import type { LaneContext } from "./lane/lane-context.ts";

export interface LaneRemovalsParts
  extends Pick<LaneContext, "ledger" | "live" | "logger" | "metrics"> {
  /**
   * Resolves once `live`, this node's copy of the catalog, has all changes that were confirmed
   * before the call. Absent if `live` has every change as soon as it is confirmed.
   */
  catalogCurrent?(): Promise<void>;
}

/** Pause in milliseconds before a removal that failed is tried again. */
const RETRY_MS = 5_000;

/**
 * Deletes the stored progress of lanes (deliveries to one destination) whose destination was
 * deleted or disconnected. First waits for a current copy of the catalog, because an old one may
 * lack a destination that needs its progress.
 */
export class LaneRemovals {
  /** Destination id → promise that settles when the removal of its stored progress has ended. */
  readonly #running = new Map<string, Promise<void>>();
  readonly #stopping = new AbortController();

  /**
   * `keep` is called before the progress of a destination is deleted. If it returns true, the
   * destination needs a lane after all, and its progress stays.
   */
  constructor(
    private readonly parts: LaneRemovalsParts,
    private readonly keep: (destinationId: string) => boolean,
  ) {}

  get isEmpty(): boolean {
    return this.#running.size === 0;
  }

  isRunning(destinationId: string): boolean {
    return this.#running.has(destinationId);
  }

  /**
   * Begins to delete the stored progress of a destination's lane, and returns at once. `discarded`
   * resolves with the number of discarded events once the lane has stopped; nothing is deleted
   * before. Errors are logged, and the deletion is retried.
   */
  begin(destinationId: string, discarded: Promise<number>): void {
    const removal = this.#run(destinationId, discarded).finally(() => {
      if (this.#running.get(destinationId) === removal) this.#running.delete(destinationId);
    });
    this.#running.set(destinationId, removal);
  }

  /**
   * Stops the removals, and resolves when none is running. The next start of the server begins the
   * unfinished removals again.
   */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running.values());
  }

  async #run(destinationId: string, discarded: Promise<number>): Promise<void> {
    const { signal } = this.#stopping;
    do {
      try {
        return await this.#remove(destinationId, discarded);
      } catch (err) {
        if (err === signal.reason) return;
        this.parts.logger.error({ destinationId, err }, "cannot remove a lane; retrying");
        await unlessAborted(Bun.sleep(RETRY_MS), signal).catch(() => {});
      }
    } while (!signal.aborted);
  }

  async #remove(destinationId: string, discarded: Promise<number>): Promise<void> {
    const { ledger, live, logger, metrics, catalogCurrent } = this.parts;
    const events = await discarded;
    if (catalogCurrent !== undefined) {
      const { signal } = this.#stopping;
      signal.throwIfAborted();
      await unlessAborted(catalogCurrent(), signal);
    }
    if (this.keep(destinationId)) return;
    const isDeleted = live.destination(destinationId) === undefined;
    const letters = await ledger.remove(destinationId, isDeleted);
    // A disconnected destination keeps the counts of this minute, which are not stored yet.
    if (isDeleted) metrics.histories.forget(destinationId);
    logger.info({ destinationId, events, letters }, "lane removed; its events are discarded");
  }
}
