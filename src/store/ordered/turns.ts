import { encodeChangeSet } from "./change-set.ts";
import type { SetOutcome } from "./ordered-view.ts";

/** Value of `base` in a change set that must never take effect: no view ever has this version. */
const NO_BASE = -2;

/**
 * Returns the log entry (pass) with which the node `author` gives up its turn. It is encoded as a
 * change set without writes that never takes effect, so that older releases can read it.
 */
export const passOf = (author: string): Uint8Array =>
  encodeChangeSet({ author, number: -1, base: NO_BASE, writes: [] })[0]!;

/**
 * Smallest time limit, in milliseconds, of this node's wait for another node to use its turn;
 * `TURN_MS_MAX` is the largest. Without a limit, this node would wait forever for a node that has
 * stopped.
 */
const TURN_MS_MIN = 1_000;
const TURN_MS_MAX = 5_000;
/**
 * Maximum time that a node waits for another one to use its turn, as a multiple of the duration of
 * its own last attempt. On a machine that lacks processor time, an attempt takes seconds.
 */
const ATTEMPTS_PER_TURN = 2;

/**
 * Order in which nodes change a store, so that a slow node does not lose against faster ones again
 * and again. A node whose change set had no effect gets a turn, and the other nodes wait until it
 * has used the turn, has given it up, or has let its time pass.
 *
 * A change set that is appended out of turn is still valid.
 */
export class Turns {
  /**
   * Authors (nodes) that wait for a turn to append a change set; the first has the turn. An author
   * is added when its change set had no effect, in the order of these sets in the log.
   */
  readonly #refused = new Set<string>();
  /**
   * Whether this node has read a change set of its own from the log. Until then, this node may be
   * reading old entries, so change sets without effect give no node a turn.
   */
  #isCurrent = false;
  /** Time (`performance.now()`) at which this node's last attempt to change the store began. */
  #startedAt = 0;
  /** Maximum number of milliseconds that this node waits for another node to use its turn. */
  #turnMs = TURN_MS_MIN;
  #changed = Promise.withResolvers<void>();
  #isOpen = true;

  /** `author` is this node's id in change sets. */
  constructor(private readonly author: string) {}

  /** Updates the order from outcomes of change sets, which must be in the order of the log. */
  take(outcomes: readonly SetOutcome[]): void {
    const before = this.#other();
    for (const { author, isEffective, isPass } of outcomes) {
      if (author === this.author && !isPass) this.#learn();
      if (isEffective || isPass) this.#refused.delete(author);
      else if (this.#isCurrent) this.#refused.add(author);
    }
    if (this.#other() !== before) this.#change();
  }

  /** Waits while another node has the turn, for each such node at most `#turnMs` milliseconds. */
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

  /**
   * Whether this node's last change set had no effect, because another node's change set took
   * effect first. The other nodes then wait, for a limited time, until this node tries again or
   * gives up.
   */
  get isAwaited(): boolean {
    return this.#refused.has(this.author);
  }

  /** Ends the waiting of all calls of `own`. Later calls of `own` do not wait. */
  close(): void {
    this.#isOpen = false;
    this.#change();
  }

  #learn(): void {
    const tookMs = this.#isCurrent ? performance.now() - this.#startedAt : 0;
    this.#turnMs = Math.min(Math.max(TURN_MS_MIN, ATTEMPTS_PER_TURN * tookMs), TURN_MS_MAX);
    this.#isCurrent = true;
  }

  /**
   * Returns the other node (author) that has the turn. Returns undefined if it is this node's turn,
   * or if no node waits for a turn.
   */
  #other(): string | undefined {
    const [next] = this.#refused;
    return next === this.author ? undefined : next;
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
