import { ApiError } from "../../errors.ts";
import { API_ANSWER_MS_MAX } from "../limits.ts";

/** Lateness of a request's timer, in milliseconds, above which the process counts as paused. */
const PAUSE_MS_MIN = 1_000;
/** Milliseconds between two checks of how late this process runs its timers. */
const TIMER_MS_MAX = 500;
/**
 * Milliseconds by which a request's time limit is extended, once, after a pause of this process. In
 * this time, the process reads the responses of other servers that arrived during the pause.
 */
const READ_MS = 250;
/**
 * Number of times that a late event loop can delay the answer to one request. It can run three
 * things late: the reading of the request, the timer of the deadline, and the timer of its
 * extension.
 */
const DELAYS = 3;

/**
 * Limits the total time of the steps that answer one request. Each call of `run` is a step. The
 * time between two calls does not count, because the client sends its body in that time.
 */
export class RequestDeadline {
  #usedMs = 0;
  #isExtended = false;

  /**
   * Creates the deadline of one request. The client must get the response within `ms` milliseconds.
   * The deadline is therefore earlier by `DELAYS` times the present lateness of timers
   * (`latenessMs`), but by at most half of `ms`.
   */
  constructor(
    private readonly ms: number = API_ANSWER_MS_MAX,
    private readonly latenessMs: () => number = () => 0,
  ) {}

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
        const left = leftMs();
        // After a pause of this process, the time is extended, so that the process reads the
        // responses that arrived during the pause. It is extended once, because a process that
        // lacks processor time pauses again and again.
        const isPaused = performance.now() - until > PAUSE_MS_MIN;
        if (left > 0) wait(Math.min(left, TIMER_MS_MAX));
        else if (isPaused && !this.#isExtended) {
          this.#isExtended = true;
          wait(READ_MS);
        } else late.reject(this.#lateError());
      }, ms);
    };
    const leftMs = () => {
      return this.ms - this.#reservedMs() - this.#usedMs - (performance.now() - startedAt);
    };
    wait(Math.min(Math.max(0, leftMs()), TIMER_MS_MAX));
    try {
      return await Promise.race([part(), late.promise]);
    } finally {
      clearTimeout(timer!);
      this.#usedMs += performance.now() - startedAt;
    }
  }

  #reservedMs(): number {
    return Math.min(DELAYS * this.latenessMs(), this.ms / 2);
  }

  #lateError(): ApiError {
    const reservedMs = this.#reservedMs();
    const why = reservedMs < PAUSE_MS_MIN ? "" : ", because this server lacks processor time";
    return new ApiError(
      "unavailable",
      `No answer within ${Math.round((this.ms - reservedMs) / 1_000)} s${why}. A change may still take effect; read the state before you repeat it`,
    );
  }
}
