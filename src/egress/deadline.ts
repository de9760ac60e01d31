/**
 * The time limit of one request, combined with its caller's abort signal. It needs one timer and one
 * listener: `AbortSignal.any` would add a follower to the caller's signal for each request, and an
 * `AbortController` costs more than all else that a request does here.
 */
export class Deadline {
  /** The thing that the request waits for, named in the error of a timeout. */
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

  /** Sets the function to call with the reason when the time is over or the caller aborts. */
  onEnd(end: (reason: unknown) => void): void {
    if (this.#isOver) end(this.#reason);
    else this.#end = end;
  }

  /** Returns a signal that is aborted when the time is over. */
  signal(): AbortSignal {
    const cut = new AbortController();
    this.onEnd((reason) => cut.abort(reason));
    return cut.signal;
  }

  /**
   * Settles as `work` does, or rejects with the reason when the time is over, whether or not `work`
   * obeys the signal.
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
