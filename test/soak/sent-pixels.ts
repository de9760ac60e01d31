/**
 * Pixels that the soak's clients have sent: each user sends numbered pixels, one after another's
 * answer.
 */
export class SentPixels {
  /** State of each pixel by user, one byte per pixel: sent, or acknowledged. */
  readonly #states = new Map<string, Uint8Array>();
  readonly #counts = new Map<string, number>();
  sent = 0;
  acknowledged = 0;

  /** Returns the number of the user's next pixel, which counts as sent from now on. */
  next(user: string): number {
    const number = this.#counts.get(user) ?? 0;
    let states = this.#states.get(user) ?? new Uint8Array(1_024);
    if (number === states.length) {
      const larger = new Uint8Array(states.length * 2);
      larger.set(states);
      states = larger;
    }
    this.#states.set(user, states);
    this.#counts.set(user, number + 1);
    states[number] = SENT;
    this.sent += 1;
    return number;
  }

  acknowledge(user: string, number: number): void {
    this.#states.get(user)![number] = ACKNOWLEDGED;
    this.acknowledged += 1;
  }

  wasSent(user: string, number: number): boolean {
    return (this.#states.get(user)?.[number] ?? 0) > 0;
  }

  /** Number of pixels that a user has sent, which is also the number of the next one. */
  count(user: string): number {
    return this.#counts.get(user) ?? 0;
  }

  wasAcknowledged(user: string, number: number): boolean {
    return this.#states.get(user)?.[number] === ACKNOWLEDGED;
  }

  *acknowledgedOf(prefix: string): Generator<[user: string, number: number]> {
    for (const [user, states] of this.#states) {
      if (!user.startsWith(prefix)) continue;
      for (let number = 0; number < this.#counts.get(user)!; number++) {
        if (states[number] === ACKNOWLEDGED) yield [user, number];
      }
    }
  }
}

const SENT = 1;
const ACKNOWLEDGED = 2;
