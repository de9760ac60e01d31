import { assert } from "../../assert.ts";
import type { Guest, GuestSource } from "../process/guest.ts";
import type { GuestLanguage } from "../program.ts";
import type { GuestAdmission, GuestHolder } from "./guest-admission.ts";
import type { GuestLossBackoff } from "./guest-loss-backoff.ts";
import type { GuestStarter } from "./guest-starter.ts";

/** Events after which a guest is replaced. */
const GUEST_EVENTS_MAX = 1_000_000;
/** Age at which a guest is replaced. */
const GUEST_AGE_MS_MAX = 600_000;

const SOFT_TIMEOUTS_MAX = 3;
/**
 * Batches on their way to a guest, however large: the guest works on one, the other is being sent.
 */
const LARGE_BATCHES_MAX = 2;
/**
 * Batches on their way to a guest while all of them together are small. A guest that finds its next
 * batch in its socket neither sleeps nor has to be woken: that takes as long as two events on an
 * idle machine, and far longer on a busy one.
 */
const SMALL_BATCHES_MAX = 8;
/** Bytes that the socket takes without waiting. */
const SMALL_BYTES_MAX = 64 << 10;

/** Work for the guest of a workspace: a batch. */
export interface GuestWork {
  /** Approximate number of bytes that are sent to the guest. */
  bytes: number;
  /** Resolves when the work is done or has failed. */
  perform(source: GuestSource): Promise<void>;
  reject(error: unknown): void;
}

/** One language of one workspace, with at most one guest and its work in order. */
export class WorkspaceGuest implements GuestHolder {
  readonly #starter: GuestStarter;
  readonly #admission: GuestAdmission<WorkspaceGuest>;
  readonly #language: GuestLanguage;
  #guest: Guest | undefined;
  /** The start of the next guest, while it is under way. */
  #start: Promise<Guest> | undefined;
  /** Exit of the last guest: the next guest starts after it. */
  #lastExit: Promise<unknown> = Promise.resolve();
  readonly #queue: GuestWork[] = [];
  #activeCount = 0;
  #activeBytes = 0;
  #state: "none" | "queued" | "admitted" | "leaving" = "none";
  #usedAt = performance.now();
  /** CPU debt of the last guest when it ended, and the time of its end. */
  #debt = { ms: 0, at: 0 };
  readonly #losses: GuestLossBackoff;
  #isClosed = false;
  /** Ends the wait for the next guest; undefined while there is none. */
  #endBackoff: (() => void) | undefined;

  constructor(
    starter: GuestStarter,
    admission: GuestAdmission<WorkspaceGuest>,
    language: GuestLanguage,
    losses: GuestLossBackoff,
  ) {
    this.#starter = starter;
    this.#admission = admission;
    this.#language = language;
    this.#losses = losses;
  }

  get idleSince(): number | undefined {
    return this.#activeCount + this.#queue.length > 0 ? undefined : this.#usedAt;
  }

  get memoryBytes(): number {
    return this.#guest?.memoryBytes ?? 0;
  }

  /** Whether the object holds nothing that a new one would not have. */
  get isForgettable(): boolean {
    return this.#state === "none" && this.idleSince !== undefined && this.#losses.count() === 0;
  }

  /** Whether the next guest has to wait because the code has lost several. */
  get isBackingOff(): boolean {
    return this.#endBackoff !== undefined;
  }

  enqueue(work: GuestWork): void {
    this.#queue.push(work);
    this.#startWork();
  }

  /** Rejects the queued work and ends the wait for the next guest. */
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
      this.#state = "queued";
      this.#admission.request(this);
    }
    while (this.#state === "admitted" && this.#queue.length > 0 && this.#hasRoom) {
      this.#perform(this.#queue.shift()!);
    }
  }

  /** Whether the next queued work may be sent to the guest. */
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
      assert(this.#activeCount <= max, "A guest has at most the permitted batches under way");
      await work.perform({ guest: () => this.#currentGuest() });
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

  #currentGuest(): Promise<Guest> | Guest {
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
    await this.#backOff(this.#losses.delayMs());
    this.#admission.assertAdmitted(this);
    const guest = await this.#starter.acquire(this.#language, this.#losses.count());
    // A new guest takes over the debt of the last one.
    guest.setCpuDebt(this.#debt.ms - (performance.now() - this.#debt.at));
    this.#guest = guest;
    this.#lastExit = guest.exited;
    guest.exited.then(() => {
      this.#debt = { ms: guest.cpuDebtMs, at: performance.now() };
      if (guest.ended!.end !== "retired") this.#losses.add();
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

  /** Releases the admission when there is no guest and no work for one. */
  #leaveWithoutGuest(): void {
    if (this.#state !== "admitted" || this.#guest || this.idleSince === undefined) return;
    this.#state = "leaving";
    this.#leave();
  }

  async #leave(): Promise<void> {
    this.#retireGuest();
    await this.#lastExit;
    this.#state = "none";
    this.#admission.release(this);
    this.#startWork();
  }
}

/**
 * Whether a guest is near a limit, or suspect; then it is replaced between two batches, before it
 * fails one.
 */
function isWornOut(guest: Guest): boolean {
  return (
    guest.softTimeouts >= SOFT_TIMEOUTS_MAX ||
    guest.eventCount >= GUEST_EVENTS_MAX ||
    guest.isNearMemoryLimit ||
    performance.now() - guest.startedAt > GUEST_AGE_MS_MAX
  );
}
