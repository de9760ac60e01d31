import { ApiError } from "../../errors.ts";
import { API_ANSWER_MS_MAX } from "../limits.ts";

/** Lateness of a timer, in milliseconds, beyond which this process counts as paused. */
const PAUSE_MS_MIN = 1_000;
/** Milliseconds in which responses that arrived during a pause of this process are read. */
const READ_MS = 250;
/**
 * How often a late event loop can delay an answer: before it reads the request, before the timer of
 * the deadline, and before the timer of its extension.
 */
const DELAYS = 3;

/**
 * Limits the time that all steps of answering one request take together. Time between two calls of
 * `run` does not count, because the client sends its body then.
 */
export class RequestDeadline {
  readonly #msMax: number;
  readonly #isProcessLate: boolean;
  #leftMs: number;
  #isExtended = false;

  /**
   * `latenessMs` is by how much this process has run timers late recently. So that the client waits
   * for at most `ms`, this time is reserved, up to half of `ms`.
   */
  constructor(ms: number = API_ANSWER_MS_MAX, latenessMs = 0) {
    const reservedMs = Math.min(DELAYS * latenessMs, ms / 2);
    this.#msMax = ms - reservedMs;
    this.#isProcessLate = reservedMs >= PAUSE_MS_MIN;
    this.#leftMs = this.#msMax;
  }

  /**
   * Runs one step. Rejects with an `unavailable` error when the request's time is used up; the step
   * itself continues.
   */
  async run<T>(part: () => T | Promise<T>): Promise<T> {
    const startedAt = performance.now();
    const late = Promise.withResolvers<never>();
    let timer: ReturnType<typeof setTimeout>;
    const wait = (ms: number) => {
      const until = performance.now() + ms;
      timer = setTimeout(() => {
        // The responses that arrived during a pause of this process are read first. A process that
        // lacks processor time pauses again and again, and extends a request's time once.
        const isPaused = performance.now() - until > PAUSE_MS_MIN;
        if (isPaused && !this.#isExtended) {
          this.#isExtended = true;
          wait(READ_MS);
        } else late.reject(this.#lateError());
      }, ms);
    };
    wait(this.#leftMs);
    try {
      return await Promise.race([part(), late.promise]);
    } finally {
      clearTimeout(timer!);
      this.#leftMs = Math.max(0, this.#leftMs - (performance.now() - startedAt));
    }
  }

  #lateError(): ApiError {
    const why = this.#isProcessLate ? ", because this server lacks processor time" : "";
    return new ApiError(
      "unavailable",
      `No answer within ${Math.round(this.#msMax / 1_000)} s${why}. A change may still take effect; read the state before you repeat it`,
    );
  }
}
