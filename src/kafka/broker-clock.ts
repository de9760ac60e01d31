/** Age in milliseconds at which a comparison with the brokers' clock is out of date. */
const FRESH_MS = 60_000;

/**
 * Compares the wall clock of this process with that of a broker. A broker answers a write to a
 * topic with `LogAppendTime` with the time of the append, which lies between the request and its
 * response. Only a clock that is outside of these bounds is wrong for certain, however long the
 * process or the broker was paused meanwhile.
 */
export class BrokerClock {
  readonly #elapsed: () => number;
  #errorMs = 0;
  #comparedAt = Number.NEGATIVE_INFINITY;

  constructor(elapsed: () => number = () => performance.now()) {
    this.#elapsed = elapsed;
  }

  /** Notes an append, in milliseconds since the epoch: the first and the last by this process. */
  note(sentAt: number, appendedAt: number, answeredAt: number): void {
    const ahead = Math.max(0, sentAt - appendedAt);
    const behind = Math.max(0, appendedAt - answeredAt);
    this.#errorMs = ahead - behind;
    this.#comparedAt = this.#elapsed();
  }

  /**
   * Smallest number of milliseconds by which this process's clock is ahead of the broker's, or
   * behind it when negative. Undefined when no broker has told its time lately.
   */
  errorMs(): number | undefined {
    return this.#elapsed() - this.#comparedAt < FRESH_MS ? this.#errorMs : undefined;
  }
}
