import { encodeChangeSet } from "./change-set.ts";
import type { SetOutcome } from "./ordered-view.ts";

/** Base of a change set that never takes effect: no view has this version. */
const NO_BASE = -2;

/**
 * Returns an entry by which a node gives up its turn. It is a change set without writes, because
 * older releases read entries of this form, as sets without an effect.
 */
export const passOf = (author: string): Uint8Array =>
  encodeChangeSet({ author, number: -1, base: NO_BASE, writes: [] })[0]!;

/**
 * Shortest and longest time in milliseconds for which nodes wait for the node whose turn it is.
 * That node may have stopped, or have no change any more.
 */
const TURN_MS_MIN = 1_000;
const TURN_MS_MAX = 5_000;
/**
 * Time for which a node waits for another node's turn, as a multiple of the time that its own last
 * attempt took. On a machine that lacks processor time, each attempt takes seconds.
 */
const ATTEMPTS_PER_TURN = 2;

/**
 * Order in which the nodes change a store when several want to. A node whose change set had no
 * effect has the next turn, after those that were refused before it. Until they have had their
 * turns, or given them up, the other nodes append no change sets. Without turns, a node that is
 * slower than others could be refused again and again.
 *
 * All nodes read the same outcomes from the log, so none decides the order. A node that does not
 * keep to it only costs others an attempt.
 */
export class Turns {
  readonly #author: string;
  /** Authors whose last change set had no effect, in the order of the log. */
  readonly #refused = new Set<string>();
  /** Whether this node has read a change set of its own. Sets before it are of the past. */
  #isCurrent = false;
  /** When this node's last attempt began, by `performance.now`. */
  #startedAt = 0;
  #turnMs = TURN_MS_MIN;
  #changed = Promise.withResolvers<void>();
  #isOpen = true;

  /** `author` is this node's id in change sets. */
  constructor(author: string) {
    this.#author = author;
  }

  /** Takes the outcomes of change sets, in the order of the log. */
  take(outcomes: readonly SetOutcome[]): void {
    const before = this.#other();
    for (const { author, isEffective, isPass } of outcomes) {
      if (author === this.#author && !isPass) this.#learn();
      if (isEffective || isPass) this.#refused.delete(author);
      else if (this.#isCurrent) this.#refused.add(author);
    }
    if (this.#other() !== before) this.#change();
  }

  /** Waits until this node may append a change set: until no other node has a turn before it. */
  async own(): Promise<void> {
    for (;;) {
      const other = this.#other();
      if (other === undefined || !this.#isOpen) break;
      const timer = setTimeout(() => this.#skip(other), this.#turnMs);
      await this.#changed.promise;
      clearTimeout(timer);
    }
    this.#startedAt = performance.now();
  }

  /** Whether other nodes wait, now or later, for a change set of this node. */
  get isAwaited(): boolean {
    return this.#refused.has(this.#author);
  }

  /** Ends all calls of `own`, and makes later ones return at once. */
  close(): void {
    this.#isOpen = false;
    this.#change();
  }

  #learn(): void {
    const tookMs = this.#isCurrent ? performance.now() - this.#startedAt : 0;
    this.#turnMs = Math.min(Math.max(TURN_MS_MIN, ATTEMPTS_PER_TURN * tookMs), TURN_MS_MAX);
    this.#isCurrent = true;
  }

  /** Returns the author that has the turn. Undefined for this node, and while no node waits. */
  #other(): string | undefined {
    const [next] = this.#refused;
    return next === this.#author ? undefined : next;
  }

  #skip(author: string): void {
    this.#refused.delete(author);
    this.#change();
  }

  #change(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
