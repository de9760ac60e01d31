import type { Guest } from "../process/guest.ts";
import type { GuestLanguage } from "../program.ts";
import type { SandboxUnavailable } from "../sandbox.ts";
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
const LARGE_AT_ONCE_MAX = 2;
/**
 * Batches on their way to a guest while all of them together are small. A guest that finds its next
 * batch in its socket neither sleeps nor has to be woken: that takes as long as two events on an
 * idle machine, and far longer on a busy one.
 */
const SMALL_AT_ONCE_MAX = 8;
/** Bytes that the socket takes without waiting. */
const SMALL_BYTES_MAX = 64 << 10;

/** Where work finds its guest: the same one until it dies, then a new one. */
export interface GuestSource {
  guest(): Promise<Guest> | Guest;
}

export interface GuestWork {
  /** Bytes that go to the guest, about. */
  bytes: number;
  perform(source: GuestSource): Promise<void>;
  refuse(error: SandboxUnavailable): void;
}

/** One language of one workspace, with at most one guest and its work in order. */
export class WorkspaceGuest implements GuestHolder {
  readonly #starter: GuestStarter;
  readonly #residence: GuestAdmission<WorkspaceGuest>;
  readonly #language: GuestLanguage;
  #guest: Guest | undefined;
  /** The start of the next guest, while it is under way. */
  #taking: Promise<Guest> | undefined;
  /** Ends of earlier guests: the next guest begins after them. */
  #ending: Promise<unknown> = Promise.resolve();
  readonly #waiting: GuestWork[] = [];
  #underWay = 0;
  #underWayBytes = 0;
  #place: "none" | "awaited" | "taken" | "leaving" = "none";
  #usedAt = performance.now();
  /** What the last guest owed when it ended, and when that was. */
  #debt = { ms: 0, at: 0 };
  readonly #losses: GuestLossBackoff;
  #refused = false;
  /** Ends the wait for the next guest; undefined while there is none. */
  #endPause: (() => void) | undefined;

  constructor(
    starter: GuestStarter,
    residence: GuestAdmission<WorkspaceGuest>,
    language: GuestLanguage,
    losses: GuestLossBackoff,
  ) {
    this.#starter = starter;
    this.#residence = residence;
    this.#language = language;
    this.#losses = losses;
  }

  get idleSince(): number | undefined {
    return this.#underWay + this.#waiting.length > 0 ? undefined : this.#usedAt;
  }

  get memoryBytes(): number {
    return this.#guest?.bytes ?? 0;
  }

  /** Whether nothing would be lost if this tenant were forgotten. */
  get isForgettable(): boolean {
    return this.#place === "none" && this.idleSince !== undefined && this.#losses.count() === 0;
  }

  /** Whether its code has cost so many guests that the next one has to wait. */
  get isBackingOff(): boolean {
    return this.#endPause !== undefined;
  }

  enqueue(work: GuestWork): void {
    this.#waiting.push(work);
    this.#goOn();
  }

  /** Gives up on what waits. */
  rejectAll(error: SandboxUnavailable): void {
    for (const work of this.#waiting.splice(0)) work.refuse(error);
    this.#refused = true;
    this.#endPause?.();
  }

  evict(atOnce: boolean): void {
    if (this.#place !== "taken") return;
    this.#place = "leaving";
    if (atOnce) this.#guest?.kill("retired");
    if (this.#underWay === 0) this.#leave();
  }

  onAdmit(): void {
    this.#place = "taken";
    this.#goOn();
    this.#leaveWithoutGuest();
  }

  #goOn(): void {
    if (this.#place === "none" && this.#waiting.length > 0) {
      this.#place = "awaited";
      this.#residence.request(this);
    }
    while (this.#place === "taken" && this.#waiting.length > 0 && this.#hasRoom) {
      this.#perform(this.#waiting.shift()!);
    }
  }

  /** Whether the next work that waits may be sent to the guest. */
  get #hasRoom(): boolean {
    if (this.#underWay < LARGE_AT_ONCE_MAX) return true;
    const bytes = this.#underWayBytes + this.#waiting[0]!.bytes;
    return this.#underWay < SMALL_AT_ONCE_MAX && bytes <= SMALL_BYTES_MAX;
  }

  async #perform(work: GuestWork): Promise<void> {
    this.#underWay += 1;
    this.#underWayBytes += work.bytes;
    await work.perform({ guest: () => this.#guestOf() });
    this.#underWay -= 1;
    this.#underWayBytes -= work.bytes;
    this.#usedAt = performance.now();
    if (this.#guest && isWornOut(this.#guest)) this.#retire();
    this.#goOn();
    if (this.#underWay > 0) return;
    if (this.#place === "leaving") this.#leave();
    else this.#leaveWithoutGuest();
  }

  #guestOf(): Promise<Guest> | Guest {
    if (this.#guest && !this.#guest.dying) return this.#guest;
    this.#taking ??= this.#take().finally(() => {
      this.#taking = undefined;
    });
    return this.#taking;
  }

  async #take(): Promise<Guest> {
    await this.#ending;
    await this.#pause(this.#losses.delayMs());
    const guest = await this.#starter.acquire(this.#language, this.#losses.count());
    // A new guest takes over the debt of the last one.
    guest.setCpuDebt(this.#debt.ms - (performance.now() - this.#debt.at));
    this.#guest = guest;
    this.#ending = guest.exited;
    guest.exited.then(() => {
      this.#debt = { ms: guest.cpuDebtMs, at: performance.now() };
      if (guest.ended!.end !== "retired") this.#losses.add();
      if (this.#guest === guest) this.#guest = undefined;
      this.#leaveWithoutGuest();
    });
    return guest;
  }

  async #pause(ms: number): Promise<void> {
    if (ms === 0 || this.#refused) return;
    const over = Promise.withResolvers<void>();
    const timer = setTimeout(over.resolve, ms);
    this.#endPause = over.resolve;
    await over.promise;
    this.#endPause = undefined;
    clearTimeout(timer);
  }

  #retire(): void {
    this.#guest?.retire();
    this.#guest = undefined;
  }

  /** Gives the place back when there is no guest and no work for one. */
  #leaveWithoutGuest(): void {
    if (this.#place !== "taken" || this.#guest || this.idleSince === undefined) return;
    this.#place = "leaving";
    this.#leave();
  }

  async #leave(): Promise<void> {
    this.#retire();
    await this.#ending;
    this.#place = "none";
    this.#residence.release(this);
    this.#goOn();
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
