import { availableParallelism } from "node:os";

/**
 * Orders the starts of guests. No more of them run at a time than there are processors: a hundred
 * at once would leave each start, and every guest that runs already, a hundredth of the machine.
 * The workspace that has lost the fewest guests of late is next, then the one that came first.
 */
export class StartLine {
  #free: number;
  /** The starts that wait, in the order in which they came. */
  readonly #waiting: { losses: number; enter: () => void }[] = [];

  constructor(places = availableParallelism()) {
    this.#free = places;
  }

  /** Does a start when it is its turn. */
  async inTurn<T>(losses: number, start: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((enter) => this.#waiting.push({ losses, enter }));
    try {
      return await start();
    } finally {
      const next = this.#next();
      if (next) next.enter();
      else this.#free += 1;
    }
  }

  #next() {
    const fewest = Math.min(...this.#waiting.map(({ losses }) => losses));
    const index = this.#waiting.findIndex(({ losses }) => losses === fewest);
    return index < 0 ? undefined : this.#waiting.splice(index, 1)[0];
  }
}
