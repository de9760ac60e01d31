/** Returns the message of a timeout error. `awaited` is a noun phrase. */
export function timeoutText(awaited: string, ms: number): string {
  return `No ${awaited} within ${ms} ms`;
}

/**
 * Ends a request when its time limit has passed or its caller aborts. Creates an `AbortController`
 * only on demand, because creating one costs more than all other work for a request.
 */
export class Deadline {
  /**
   * Noun phrase for the thing that the request waits for at present. It is used in the message of
   * the timeout error: `No … within … ms`.
   */
  awaited = "complete answer";
  readonly #outer: AbortSignal;
  readonly #timer: Timer;
  #lastRead: Timer | undefined;
  #isOver = false;
  #reason: unknown;
  #end: ((reason: unknown) => void) | undefined;

  /**
   * Starts the time limit of `ms` milliseconds. If it is the rest of a longer limit, `wholeMs` is
   * that limit, which the message of the timeout error then names.
   */
  constructor(ms: number, outer: AbortSignal, wholeMs = ms) {
    this.#outer = outer;
    const stop = () => this.#stop(new Error(timeoutText(this.awaited, wholeMs)));
    // An answer that arrived while this process stood still is read before the second timer.
    // Otherwise, a delivery that the receiver has accepted would be made again.
    this.#timer = setTimeout(() => {
      this.#lastRead = setTimeout(stop);
    }, ms);
    outer.addEventListener("abort", this.#onAbort);
    if (outer.aborted) this.#onAbort();
  }

  /**
   * Starts the whole time limit again. Does nothing if the limit has passed already, or the caller
   * has aborted.
   */
  restart(): void {
    if (this.#isOver) return;
    clearTimeout(this.#lastRead);
    this.#timer.refresh();
  }

  throwIfOver(): void {
    if (this.#isOver) throw this.#reason;
  }

  /**
   * Sets the function to call with the timeout error or the abort reason, in place of an earlier
   * function. Calls `end` at once if the time limit has passed or the caller has aborted already.
   */
  onEnd(end: (reason: unknown) => void): void {
    if (this.#isOver) end(this.#reason);
    else this.#end = end;
  }

  /** Returns a signal that is aborted when the time limit has passed or the caller aborts. */
  signal(): AbortSignal {
    const cut = new AbortController();
    this.onEnd((reason) => cut.abort(reason));
    return cut.signal;
  }

  /**
   * Calls `work` and settles as its promise does. When the time limit has passed or the caller
   * aborts, aborts the signal that `work` got, and rejects at once, even if `work` ignores the
   * signal.
   */
  async bound<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const cut = new AbortController();
    return await new Promise<T>((resolve, reject) => {
      this.onEnd((reason) => {
        cut.abort(reason);
        reject(reason);
      });
      work(cut.signal).then(resolve, reject);
    });
  }

  [Symbol.dispose](): void {
    this.clear();
  }

  clear(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#lastRead);
    this.#outer.removeEventListener("abort", this.#onAbort);
    this.#end = undefined;
  }

  readonly #onAbort = () => this.#stop(this.#outer.reason);

  #stop(reason: unknown): void {
    this.#isOver = true;
    this.#reason = reason;
    this.#end?.(reason);
    this.clear();
  }
}
