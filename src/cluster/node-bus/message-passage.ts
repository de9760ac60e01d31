/**
 * Milliseconds within which this node must read back a message that it sent. After this time, the
 * node bus counts as not working.
 */
const PASSAGE_MS_MAX = 3_000;

/** Observes whether this node's messages reach the node bus's topic and are read back. */
export class MessagePassage {
  /**
   * Time (by `now`) of the first message that this node has sent since it last read back one of its
   * own. Absent if it has sent none since then.
   */
  #sentAt: number | undefined;
  /** Whether the brokers acknowledged this node's last message. True before the first message. */
  isWritten = true;

  constructor(private readonly now: () => number = () => performance.now()) {}

  sent(): void {
    this.#sentAt ??= this.now();
  }

  wrote(isWritten: boolean): void {
    this.isWritten = isWritten;
  }

  read(): void {
    this.#sentAt = undefined;
  }

  /** Whether this node's messages reach the topic and come back. True before the first message. */
  isWorking(): boolean {
    const { isWritten } = this;
    return isWritten && (this.#sentAt === undefined || this.now() - this.#sentAt < PASSAGE_MS_MAX);
  }
}
