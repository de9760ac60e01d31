import { ApiError } from "../../errors.ts";
import { API_ANSWER_MS_MAX } from "../limits.ts";

/** Lateness of a timer, in milliseconds, beyond which this process counts as paused. */
const PAUSE_MS_MIN = 1_000;

/**
 * Limits the time that all steps of answering one request take together. Time between two calls of
 * `run` does not count, because the client sends its body then.
 */
export class RequestDeadline {
  #leftMs: number;

  constructor(ms: number = API_ANSWER_MS_MAX) {
    this.#leftMs = ms;
  }

  /**
   * Runs one step. Rejects with an `unavailable` error when the request's time is used up; the step
   * itself continues.
   */
  async run<T>(part: () => T | Promise<T>): Promise<T> {
    const startedAt = performance.now();
    const late = Promise.withResolvers<never>();
    let timer: ReturnType<typeof setTimeout>;
    let isExtended = false;
    const wait = (ms: number) => {
      const until = performance.now() + ms;
      timer = setTimeout(() => {
        // The responses that arrived during a pause of this process are read first. A process that
        // lacks processor time pauses again and again, and extends the time once.
        const isPaused = performance.now() - until > PAUSE_MS_MIN;
        if (isPaused && !isExtended) {
          isExtended = true;
          wait(PAUSE_MS_MIN);
        } else late.reject(new ApiError("unavailable", UNKNOWN));
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
}

const UNKNOWN = `No answer within ${API_ANSWER_MS_MAX / 1_000} s. A change may still take effect; read the state before you repeat it`;
