import { closeSync, existsSync, openSync, readSync } from "node:fs";
import type { Arrival } from "../soak/oracle.ts";

const READ_BYTES = 1 << 20;

/** Reader of the receiver's file, which has one line per event. */
export class Arrivals {
  readonly all: Arrival[] = [];
  /** Highest number that has arrived, by user. */
  readonly #highest = new Map<string, number>();
  #offset = 0;
  #rest = "";

  constructor(private readonly path: string) {}

  /** Reads the lines that were added since the last call. */
  read(): void {
    if (!existsSync(this.path)) return;
    const file = openSync(this.path, "r");
    const buffer = Buffer.alloc(READ_BYTES);
    for (let length = 1; length > 0; ) {
      length = readSync(file, buffer, 0, READ_BYTES, this.#offset);
      this.#offset += length;
      const lines = `${this.#rest}${buffer.toString("latin1", 0, length)}`.split("\n");
      this.#rest = lines.pop()!;
      for (const line of lines) this.#take(line);
    }
    closeSync(file);
  }

  /** Returns the highest number of a user that has arrived; -1 for none. */
  highest(user: string): number {
    return this.#highest.get(user) ?? -1;
  }

  #take(line: string): void {
    const [id, messageId] = line.split(" ") as [string, string];
    const [user, number] = id.split(":") as [string, string];
    this.all.push({ user, number: Number(number), messageId });
    this.#highest.set(user, Math.max(this.highest(user), Number(number)));
  }
}
