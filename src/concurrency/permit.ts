import { assert } from "../assert.ts";

/** The right to use units of a semaphore or limiter. It must be released exactly once. */
export class Permit implements Disposable {
  readonly #onRelease: () => void;
  #isHeld = true;

  constructor(onRelease: () => void) {
    this.#onRelease = onRelease;
  }

  release(): void {
    assert(this.#isHeld, "A permit is released once");
    this.#isHeld = false;
    this.#onRelease();
  }

  [Symbol.dispose](): void {
    this.release();
  }
}
