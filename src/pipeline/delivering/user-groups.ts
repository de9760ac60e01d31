import { assert } from "../../assert.ts";

/** Number of groups of users per destination; a power of two. A group takes 5 bytes of memory. */
const GROUPS = 2_048;

/**
 * Assigns a destination's users to its delivery queues, in groups by a hash of the user id, because
 * single users would take more memory. A group's unsettled events are all in one queue, so that
 * each user's events stay in order.
 */
export class UserGroups {
  /** Number of outputs of each group that have no final outcome. */
  readonly #open = new Uint32Array(GROUPS);
  /** Index of each group's queue, valid while the group has outputs without a final outcome. */
  readonly #queues = new Uint8Array(GROUPS);

  groupOf(user: string): number {
    let hash = 0;
    for (let at = 0; at < user.length; at++)
      hash = Math.imul(hash ^ user.charCodeAt(at), 0x01000193);
    return (hash ^ (hash >>> 15)) & (GROUPS - 1);
  }

  /** Returns the index of the queue that has events of the group; undefined when none has. */
  queueOf(group: number): number | undefined {
    return this.#open[group] === 0 ? undefined : this.#queues[group];
  }

  /** Assigns a group to a queue, and adds `outputs` to its outputs without a final outcome. */
  add(group: number, queue: number, outputs: number): void {
    this.#queues[group] = queue;
    this.#open[group]! += outputs;
  }

  /** Notes that one more output of a group has a final outcome. */
  settle(group: number): void {
    assert(this.#open[group]! > 0, "A group settles no more outputs than were queued");
    this.#open[group]! -= 1;
  }
}
