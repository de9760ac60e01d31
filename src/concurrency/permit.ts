import { assert } from "../assert.ts";

/** Right to use one unit of a semaphore or limiter until it is released, which happens once. */
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
