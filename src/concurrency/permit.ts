import { assert } from "../assert.ts";

/** The right to use units of a semaphore or limiter. It must be released exactly once. */
export class Permit implements Disposable {
  #isHeld = true;

  constructor(private readonly onRelease: () => void) {}

  release(): void {
    assert(this.#isHeld, "A permit is released once");
    this.#isHeld = false;
    this.onRelease();
  }

  [Symbol.dispose](): void {
    this.release();
  }
}
