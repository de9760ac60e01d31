/**
 * The time limit of one request, combined with the abort signal of its caller. For speed, it uses
 * one timer and one event listener per request. An `AbortController` per request would cost more
 * than everything else that a request does here, and `AbortSignal.any` would attach another signal
 * to the caller's for each request.
 */
export class Deadline {
  /**
   * Noun for the thing that the request waits for at present. The message of a timeout contains it.
   */
  awaited = "complete answer";
  readonly #outer: AbortSignal;
  readonly #timer: Timer;
  #isOver = false;
  #reason: unknown;
  #end: ((reason: unknown) => void) | undefined;

  constructor(ms: number, outer: AbortSignal) {
    this.#outer = outer;
    this.#timer = setTimeout(() => this.#stop(new Error(`No ${this.awaited} within ${ms} ms`)), ms);
    outer.addEventListener("abort", this.#onAbort);
    if (outer.aborted) this.#onAbort();
  }

  throwIfOver(): void {
    if (this.#isOver) throw this.#reason;
  }

  /**
   * Sets the function that is called when the time limit has passed or the caller aborts. It gets
   * the timeout error or the abort reason.
   */
  onEnd(end: (reason: unknown) => void): void {
    if (this.#isOver) end(this.#reason);
    else this.#end = end;
  }

  /** Returns a signal that is aborted when the time is over or the caller aborts. */
  signal(): AbortSignal {
    const cut = new AbortController();
    this.onEnd((reason) => cut.abort(reason));
    return cut.signal;
  }

  /**
   * Calls `work` and settles as it does. Rejects when the time is over or the caller aborts, even
   * if `work` ignores its signal.
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

  clear(): void {
    clearTimeout(this.#timer);
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
