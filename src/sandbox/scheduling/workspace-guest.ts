import { assert } from "../../assert.ts";
import type { Guest } from "../process/guest.ts";
import type { GuestSource } from "../process/guest-source.ts";
import type { GuestLanguage } from "../program.ts";
import type { GuestAdmission, GuestHolder } from "./guest-admission.ts";
import type { GuestLossBackoff } from "./guest-loss-backoff.ts";
import type { GuestStarter } from "./guest-starter.ts";

/** Number of events after which a guest process is replaced by a new one. */
const GUEST_EVENTS_MAX = 1_000_000;
/** Age in milliseconds at which a guest process is replaced by a new one. */
const GUEST_AGE_MS_MAX = 600_000;

const SOFT_TIMEOUTS_MAX = 3;
/**
 * Maximum number of batches in progress in one guest process if they have more than
 * `SMALL_BYTES_MAX` bytes together: the guest works on one while the server sends the next.
 */
const LARGE_BATCHES_MAX = 2;
/**
 * Maximum number of batches in progress in one guest process if they have at most `SMALL_BYTES_MAX`
 * bytes together. Several are permitted, because a guest that sleeps between batches takes at least
 * as long as two events to wake.
 */
const SMALL_BATCHES_MAX = 8;
/**
 * Number of bytes that fit in the socket to a guest process, so that the server can send them
 * without waiting.
 */
const SMALL_BYTES_MAX = 64 << 10;

/** One batch of events for the guest process of a workspace. */
export interface GuestWork {
  /** Approximate number of bytes that the server sends to the guest process for this batch. */
  bytes: number;
  /**
   * Runs the batch in the guest process that `source` provides. Resolves when the work is done or
   * has failed.
   */
  perform(source: GuestSource): Promise<void>;
  reject(error: unknown): void;
}

/**
 * Queue of the work of one workspace (tenant) in one language, with at most one guest process for
 * it. A second queue of the same workspace and language passes its work to the first queue if it
 * may not start a process.
 */
export class WorkspaceGuest implements GuestHolder, GuestSource {
  #guest: Guest | undefined;
  /** Promise of the next guest process while it is being started; undefined at other times. */
  #start: Promise<Guest> | undefined;
  /** Resolves when the last guest process has exited. The next guest starts only after that. */
  #lastExit: Promise<unknown> = Promise.resolve();
  readonly #queue: GuestWork[] = [];
  #activeCount = 0;
  #activeBytes = 0;
  #state: "none" | "queued" | "admitted" | "leaving" = "none";
  #usedAt = performance.now();
  /**
   * CPU debt (CPU time in ms beyond a fair share) of the last guest process at its end, and the
   * time of this end. The next guest starts with this debt minus the time since then.
   */
  #debt = { ms: 0, at: 0 };
  #isClosed = false;
  /**
   * Function that ends the delay before the next guest process starts; undefined while there is no
   * delay.
   */
  #endBackoff: (() => void) | undefined;

  constructor(
    private readonly starter: GuestStarter,
    private readonly admission: GuestAdmission<WorkspaceGuest>,
    private readonly language: GuestLanguage,
    private readonly losses: GuestLossBackoff,
    /** The first queue of the workspace and language, if this is the second one; else undefined. */
    private readonly first?: WorkspaceGuest,
  ) {}

  get isSecond(): boolean {
    return this.first !== undefined;
  }

  /**
   * Whether this is the second queue of its workspace, and its guest process must end to make room
   * for another workspace. A batch in progress must then stop, and the rest of the batch is queued
   * again.
   */
  get isLeaving(): boolean {
    return this.isSecond && this.#state === "leaving";
  }

  get idleSince(): number | undefined {
    return this.#activeCount + this.#queue.length > 0 ? undefined : this.#usedAt;
  }

  get memoryBytes(): number {
    return this.#guest?.memoryBytes ?? 0;
  }

  /**
   * Whether this object can be deleted: it has no guest process and no work, and its code has not
   * ended a guest recently.
   */
  get isForgettable(): boolean {
    return this.#state === "none" && this.idleSince !== undefined && this.losses.count() === 0;
  }

  /**
   * Whether the start of the next guest process is delayed because the code has recently ended
   * several guests.
   */
  get isBackingOff(): boolean {
    return this.#endBackoff !== undefined;
  }

  enqueue(work: GuestWork): void {
    this.#queue.push(work);
    this.#startWork();
  }

  /** Rejects the queued work with `error`, and attempts a delayed start of a guest at once. */
  close(error: Error): void {
    for (const work of this.#queue.splice(0)) work.reject(error);
    this.#isClosed = true;
    this.#endBackoff?.();
  }

  evict(immediately: boolean): void {
    if (this.#state !== "admitted") return;
    this.#state = "leaving";
    if (immediately) this.#guest?.kill("retired");
    if (this.#activeCount === 0) this.#leave();
  }

  onAdmit(): void {
    this.#state = "admitted";
    this.#startWork();
    this.#leaveWithoutGuest();
  }

  #startWork(): void {
    if (this.#state === "none" && this.#queue.length > 0) {
      if (this.first && !this.admission.hasRoom) {
        for (const work of this.#queue.splice(0)) this.first.enqueue(work);
        return;
      }
      this.#state = "queued";
      this.admission.request(this);
    }
    while (this.#state === "admitted" && this.#queue.length > 0 && this.#hasRoom) {
      this.#perform(this.#queue.shift()!);
    }
  }

  /** Whether the limits on batches in progress allow the first batch of the queue to start now. */
  get #hasRoom(): boolean {
    if (this.#activeCount < LARGE_BATCHES_MAX) return true;
    const bytes = this.#activeBytes + this.#queue[0]!.bytes;
    return this.#activeCount < SMALL_BATCHES_MAX && bytes <= SMALL_BYTES_MAX;
  }

  async #perform(work: GuestWork): Promise<void> {
    this.#activeCount += 1;
    this.#activeBytes += work.bytes;
    try {
      const max = this.#activeBytes <= SMALL_BYTES_MAX ? SMALL_BATCHES_MAX : LARGE_BATCHES_MAX;
      assert(this.#activeCount <= max, "A guest has at most the permitted batches in progress");
      await work.perform(this);
    } catch (error) {
      work.reject(error);
    }
    this.#activeCount -= 1;
    this.#activeBytes -= work.bytes;
    this.#usedAt = performance.now();
    if (this.#guest && isWornOut(this.#guest)) this.#retireGuest();
    this.#startWork();
    if (this.#activeCount > 0) return;
    if (this.#state === "leaving") this.#leave();
    else this.#leaveWithoutGuest();
  }

  guest(): Promise<Guest> | Guest {
    if (this.#guest && !this.#guest.dying) {
      assert(!this.#guest.isRetiring, "A replaced guest gets no more batches");
      return this.#guest;
    }
    this.#start ??= this.#startGuest().finally(() => {
      this.#start = undefined;
    });
    return this.#start;
  }

  async #startGuest(): Promise<Guest> {
    await this.#lastExit;
    await this.#backOff(this.losses.delayMs());
    this.admission.assertAdmitted(this);
    const guest = await this.starter.acquire(this.language, this.losses.count());
    // A new guest takes over the debt of the last one.
    guest.setCpuDebt(this.#debt.ms - (performance.now() - this.#debt.at));
    this.#guest = guest;
    this.#lastExit = guest.exited;
    guest.exited.then(() => {
      this.#debt = { ms: guest.cpuDebtMs, at: performance.now() };
      if (guest.ended!.end !== "retired") this.losses.add();
      if (this.#guest === guest) this.#guest = undefined;
      this.#leaveWithoutGuest();
    });
    return guest;
  }

  async #backOff(ms: number): Promise<void> {
    if (ms === 0 || this.#isClosed) return;
    const over = Promise.withResolvers<void>();
    const timer = setTimeout(over.resolve, ms);
    this.#endBackoff = over.resolve;
    await over.promise;
    this.#endBackoff = undefined;
    clearTimeout(timer);
  }

  #retireGuest(): void {
    this.#guest?.retire();
    this.#guest = undefined;
  }

  /** Gives back the permission to have a guest process when there is neither a guest nor work. */
  #leaveWithoutGuest(): void {
    if (this.#state !== "admitted" || this.#guest || this.idleSince === undefined) return;
    this.#state = "leaving";
    this.#leave();
  }

  async #leave(): Promise<void> {
    this.#retireGuest();
    await this.#lastExit;
    this.#state = "none";
    this.admission.release(this);
    this.#startWork();
  }
}

/**
 * Whether a guest process must be replaced before its next batch, so that no batch fails: it is
 * near its limit of memory, age or events, or its code has often used up the time limit.
 */
function isWornOut(guest: Guest): boolean {
  return (
    guest.softTimeouts >= SOFT_TIMEOUTS_MAX ||
    guest.eventCount >= GUEST_EVENTS_MAX ||
    guest.isNearMemoryLimit ||
    performance.now() - guest.startedAt > GUEST_AGE_MS_MAX
  );
}
