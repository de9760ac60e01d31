/**
 * The time of one request, and its caller's wish to end it before. One timer and one listener:
 * `AbortSignal.any` would keep every caller's signal busy, and a controller each costs more than
 * the rest of a request's own work.
 */
export class Deadline {
  /** What is missing when the time is over, for the reason. */
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

  /** From then on this is what the end of the time ends, with its reason. */
  onEnd(end: (reason: unknown) => void): void {
    if (this.#isOver) end(this.#reason);
    else this.#end = end;
  }

  /** Aborted when the time is over. */
  signal(): AbortSignal {
    const cut = new AbortController();
    this.onEnd((reason) => cut.abort(reason));
    return cut.signal;
  }

  /** What `work` gives, or the reason when the time is over, whether or not `work` heeds it. */
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
