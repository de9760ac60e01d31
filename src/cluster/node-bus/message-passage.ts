/** Time in milliseconds after which a message that was sent must have been read back. */
const PASSAGE_MS_MAX = 3_000;

/** Follows whether the messages of this node reach the topic, and whether this node reads them. */
export class MessagePassage {
  readonly #now: () => number;
  /** Time of sending of the oldest message that was not read back yet. Undefined without any. */
  #sentAt: number | undefined;
  /** Whether the last message was written. */
  isWritten = true;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  sent(): void {
    this.#sentAt ??= this.#now();
  }

  wrote(isWritten: boolean): void {
    this.isWritten = isWritten;
  }

  read(): void {
    this.#sentAt = undefined;
  }

  /** Whether messages get through, as far as is known. */
  isWorking(): boolean {
    const { isWritten } = this;
    return isWritten && (this.#sentAt === undefined || this.#now() - this.#sentAt < PASSAGE_MS_MAX);
  }
}
