import type { LogEntry, OrderedLog } from "../../src/store/ordered/ordered-log.ts";

export interface MemoryLogOptions {
  /** Delay of each step in milliseconds, chosen at random. */
  delayMs(): number;
  /** Fate of an append: stored and acknowledged, stored without a response, or lost. */
  fate?(): "kept" | "unanswered" | "lost";
}

/**
 * An ordered log that several stores of one process share, with the delays and faults of brokers.
 */
export class MemoryLog implements OrderedLog {
  /** Records of the log; deleted ones are undefined. */
  readonly entries: (Uint8Array | undefined)[] = [];
  first = 0;
  readonly #options: MemoryLogOptions;
  /** Resolves at the next append, so that a follower of a quiet log takes no CPU time. */
  #appended = Promise.withResolvers<void>();
  /** While it is set, nothing is kept, read or answered. */
  away = false;

  constructor(options: MemoryLogOptions) {
    this.#options = options;
  }

  async append(entry: Uint8Array): Promise<number> {
    const fate = this.#options.fate?.() ?? "kept";
    await this.#step();
    if (fate === "lost") throw new Error("Append lost");
    const position = this.entries.push(entry.slice()) - 1;
    this.#appended.resolve();
    this.#appended = Promise.withResolvers();
    await this.#step();
    if (fate === "unanswered") throw new Error("No response");
    return position;
  }

  async knownEnd(): Promise<number> {
    await this.#step();
    const { length } = this.entries;
    await this.#step();
    return length;
  }

  async trim(position: number): Promise<void> {
    await this.#step();
    for (; this.first < position; this.first++) this.entries[this.first] = undefined;
  }

  follow(position: number, take: (entries: readonly LogEntry[]) => Promise<void>) {
    let isOpen = true;
    const closed = Promise.withResolvers<void>();
    const following = (async () => {
      for (let at = position; isOpen; ) {
        await Bun.sleep(this.#options.delayMs());
        if (this.away) continue;
        at = Math.max(at, this.first);
        const some = this.entries.slice(
          at,
          at + 1 + Math.floor(Math.random() * 50),
        ) as Uint8Array[];
        if (some.length === 0) {
          await Promise.race([this.#appended.promise, closed.promise]);
          continue;
        }
        try {
          await take(some.map((bytes, i) => ({ position: at + i, bytes })));
          at += some.length;
        } catch {
          // The same again.
        }
      }
    })();
    return {
      close() {
        isOpen = false;
        closed.resolve();
        return following;
      },
    };
  }

  trouble(): string | undefined {
    return this.away ? "The log is away" : undefined;
  }

  async #step(): Promise<void> {
    await Bun.sleep(this.#options.delayMs());
    if (this.away) throw new Error("The log is away");
  }
}
