import type { OrderedLog } from "./ordered-log.ts";

/** Reads the end position of an ordered log. Concurrent calls share requests. */
export class OrderedLogEnd {
  readonly #log: Pick<OrderedLog, "end">;
  /**
   * Request that will begin when `#current` ends. All calls of `read` until then share this
   * request. Undefined while no call waits.
   */
  #next: Promise<number> | undefined;
  /** The last request for the log's end that was sent. This promise never rejects. */
  #current: Promise<unknown> = Promise.resolve();

  constructor(log: Pick<OrderedLog, "end">) {
    this.#log = log;
  }

  /**
   * Reads the position after the last log entry. The request is sent after the call, so the result
   * includes all entries appended before the call.
   */
  read(): Promise<number> {
    this.#next ??= this.#current.then(() => {
      this.#next = undefined;
      const end = this.#log.end();
      this.#current = end.catch(() => {});
      return end;
    });
    return this.#next;
  }
}
