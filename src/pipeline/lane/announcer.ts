import type { DurableRange } from "../../log/event-log.ts";
import { FAULT_PAUSE_MS } from "../limits.ts";
import type { LaneContext } from "./lane-context.ts";
import type { SourceLanes } from "./source-lanes.ts";

interface AnnouncerParts extends Pick<LaneContext, "logs" | "logger"> {
  sources: Pick<SourceLanes, "of" | "takeEnded">;
  /** Wakes the lanes of the destinations with the given ids. Each destination has one lane. */
  wake(destinationIds: string[]): void;
}

/**
 * Announces new records of a log to the lanes (one for each destination). Wakes the lanes of the
 * records' sources before it moves the log's announced end, because resting lanes skip all records
 * before this end.
 */
export class Announcer {
  /** Names of the logs that existed when this was created, or that `announce` handled since. */
  readonly #known = new Set<string>();
  /**
   * Logs with new records whose sources are unknown. The announcer reads these records before it
   * announces later records of the log.
   */
  readonly #unread = new Set<string>();
  #running: Promise<void> | undefined;
  #isStopped = false;

  /**
   * Sets the announced end of each log to the log's present end. Lanes start only after this call,
   * and read the records before this end without being woken.
   */
  constructor(private readonly parts: AnnouncerParts) {
    for (const log of parts.logs.names()) {
      parts.logs.setAnnouncedEnd(log, parts.logs.end(log));
      this.#known.add(log);
    }
  }

  /**
   * Announces the new records in `range`, which names their sources. Without a range, reads the new
   * records of all logs to learn their sources.
   */
  announce(range?: DurableRange): void {
    const { logs } = this.parts;
    if (range === undefined) {
      for (const log of logs.names()) this.#read(log);
      return;
    }
    this.#wake(range.sources);
    // Only after the lanes are awake: an idle lane skips all records before the announced end.
    if (this.#mayAnnounce(range.log)) logs.setAnnouncedEnd(range.log, range.end);
    else this.#read(range.log);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  #wake(sourceIds: Iterable<string>): void {
    const { sources, wake } = this.parts;
    wake(sources.takeEnded());
    for (const id of sourceIds) wake([...sources.of(id)]);
  }

  #mayAnnounce(log: string): boolean {
    const isHeld = this.parts.logs.heldSince(log) !== undefined;
    return this.#known.has(log) && !this.#unread.has(log) && !isHeld;
  }

  #read(log: string): void {
    const { logs } = this.parts;
    this.#known.add(log);
    if (logs.heldSince(log) !== undefined || logs.end(log) <= logs.announcedEnd(log)) return;
    this.#unread.add(log);
    if (!this.#isStopped) this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    while (this.#unread.size > 0 && !this.#isStopped) {
      for (const log of [...this.#unread]) {
        try {
          await this.#readNext(log);
        } catch (err) {
          this.parts.logger.error({ log, err }, "new events cannot be read; retrying");
          await Bun.sleep(FAULT_PAUSE_MS);
        }
      }
    }
    this.#running = undefined;
  }

  async #readNext(log: string): Promise<void> {
    const { logs } = this.parts;
    const from = logs.announcedEnd(log);
    const chunk = await logs.read(log, from);
    if (chunk !== undefined) {
      this.#wake(chunk.sources);
      logs.setAnnouncedEnd(log, chunk.next, chunk.newerAt);
    }
    const isDone = logs.announcedEnd(log) >= logs.end(log) || chunk?.newerAt !== undefined;
    if (isDone) this.#unread.delete(log);
    else if (chunk === undefined || chunk.next <= from) throw new Error("The log gave no records");
  }
}
