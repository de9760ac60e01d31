import { messageOf } from "../errors.ts";
import { GUEST_AGE_MS_MAX, GUEST_EVENTS_MAX, GUEST_IDLE_MS_MAX } from "../limits.ts";
import type { Guest } from "./guest.ts";
import type { SandboxLimits } from "./limits.ts";
import type { Nursery } from "./nursery.ts";
import { Places } from "./places.ts";
import { type GuestLanguage, SandboxUnavailable } from "./program.ts";
import type { TestBudget } from "./test-budget.ts";
import { ThrowAwaySeat } from "./throw-away.ts";

const SOFT_TIMEOUTS_MAX = 3;
const SWEEP_MS = 5_000;
/** One that the guest works on, and one that is on its way to it. */
const WORK_AT_ONCE_MAX = 2;

/** Where work finds its guest: the same one until it dies, then a new one. */
export interface Seat {
  guest(): Promise<Guest> | Guest;
}

interface Work {
  perform(seat: Seat): Promise<void>;
  refuse(error: SandboxUnavailable): void;
}

/** One workspace and language: at most one guest, its work in order. */
interface Tenant {
  key: string;
  language: GuestLanguage;
  guest: Guest | undefined;
  /** The guest that is being had. */
  taking: Promise<Guest> | undefined;
  waiting: Work[];
  underWay: number;
  /** Has a place, or stands in line for one. */
  place: "none" | "awaited" | "taken";
  usedAt: number;
}

/**
 * Guests by workspace and language: no guest ever serves two. Each tenant's work is done in
 * order, tenants side by side, so that one that burns its time leaves the others to the
 * operating system's scheduler. When all places are taken, tenants wait in line. Throw-away guests
 * have places of their own: whoever tests code holds up no live event.
 */
export class Pool {
  readonly #nursery: Nursery;
  readonly #guestsMax: number;
  readonly #tenants = new Map<string, Tenant>();
  readonly #places: Places;
  readonly #throwAwayPlaces: Places;
  readonly #sweep: Timer;
  #closed = false;

  constructor(nursery: Nursery, limits: SandboxLimits) {
    const { guests, throwAways, throwAwaysOfWorkspace } = limits;
    this.#nursery = nursery;
    this.#guestsMax = guests;
    this.#places = new Places(guests);
    this.#throwAwayPlaces = new Places(throwAways, throwAwaysOfWorkspace);
    this.#sweep = setInterval(() => this.#retireIdle(), SWEEP_MS);
  }

  /** Does work in the guest of a workspace. Rejects with `SandboxUnavailable`. */
  use<T>(
    workspaceId: string,
    language: GuestLanguage,
    work: (seat: Seat) => Promise<T>,
  ): Promise<T> {
    const tenant = this.#tenant(`${language} ${workspaceId}`, language);
    return new Promise<T>((resolve, reject) => {
      tenant.waiting.push({
        perform: (seat) => work(seat).then(resolve, reject),
        refuse: reject,
      });
      this.#workOn(tenant);
    });
  }

  /**
   * Does work in a guest that serves nothing else and ends after it, or with the budget. Rejects
   * with `SandboxUnavailable`.
   */
  async throwAway<T>(
    workspaceId: string,
    language: GuestLanguage,
    budget: TestBudget,
    work: (seat: Seat) => Promise<T>,
  ): Promise<T> {
    try {
      await this.#throwAwayPlaces.take(workspaceId, budget.signal);
    } catch (error) {
      throw new SandboxUnavailable(messageOf(error));
    }
    const seat = new ThrowAwaySeat(this.#nursery, language, budget);
    try {
      return await work(seat);
    } finally {
      seat.leave();
      this.#throwAwayPlaces.leave(workspaceId);
    }
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#sweep);
    const error = new SandboxUnavailable("Sandbox is closed");
    for (const tenant of this.#tenants.values()) {
      for (const work of tenant.waiting.splice(0)) work.refuse(error);
    }
  }

  #tenant(key: string, language: GuestLanguage): Tenant {
    let tenant = this.#tenants.get(key);
    if (!tenant) {
      tenant = {
        ...{ key, language, guest: undefined, taking: undefined },
        ...{ waiting: [], underWay: 0, place: "none", usedAt: 0 },
      };
      this.#tenants.set(key, tenant);
    }
    return tenant;
  }

  async #workOn(tenant: Tenant): Promise<void> {
    if (tenant.place === "none") {
      tenant.place = "awaited";
      await this.#places.take(tenant.key);
      tenant.place = "taken";
    }
    this.#start(tenant);
  }

  #start(tenant: Tenant): void {
    if (tenant.place !== "taken") return;
    while (tenant.underWay < WORK_AT_ONCE_MAX) {
      const work = tenant.waiting.shift();
      if (!work) return;
      tenant.underWay += 1;
      this.#perform(tenant, work);
    }
  }

  async #perform(tenant: Tenant, work: Work): Promise<void> {
    await work.perform({ guest: () => this.#guestOf(tenant) });
    tenant.underWay -= 1;
    tenant.usedAt = performance.now();
    if (tenant.guest && isWornOut(tenant.guest)) this.#retire(tenant);
    // A tenant does no more than this when others wait for a place.
    if (!this.#places.areAwaited) this.#start(tenant);
    if (tenant.underWay > 0) return;
    tenant.place = "none";
    this.#places.leave(tenant.key);
    if (tenant.waiting.length > 0) this.#workOn(tenant);
  }

  #guestOf(tenant: Tenant): Promise<Guest> | Guest {
    if (tenant.guest && !tenant.guest.dying) return tenant.guest;
    tenant.taking ??= this.#takeFor(tenant).finally(() => {
      tenant.taking = undefined;
    });
    return tenant.taking;
  }

  async #takeFor(tenant: Tenant): Promise<Guest> {
    if (this.#closed) throw new SandboxUnavailable("Sandbox is closed");
    this.#makeRoom();
    tenant.guest = await this.#nursery.take(tenant.language);
    return tenant.guest;
  }

  /** Ends the guest of the tenant that has been idle longest when all may have theirs. */
  #makeRoom(): void {
    let guests = 0;
    let idlest: Tenant | undefined;
    for (const tenant of this.#tenants.values()) {
      if (!tenant.guest || tenant.guest.dying) continue;
      guests += 1;
      if (tenant.place !== "none") continue;
      if (!idlest || tenant.usedAt < idlest.usedAt) idlest = tenant;
    }
    if (idlest && guests >= this.#guestsMax) this.#retire(idlest);
  }

  #retireIdle(): void {
    const before = performance.now() - GUEST_IDLE_MS_MAX;
    for (const tenant of this.#tenants.values()) {
      if (tenant.place !== "none" || tenant.usedAt > before) continue;
      this.#retire(tenant);
      this.#tenants.delete(tenant.key);
    }
  }

  #retire(tenant: Tenant): void {
    tenant.guest?.retire();
    tenant.guest = undefined;
  }
}

/** Near a limit, or suspect: replaced between two batches, before it fails one. */
function isWornOut(guest: Guest): boolean {
  return (
    guest.softTimeouts >= SOFT_TIMEOUTS_MAX ||
    guest.events >= GUEST_EVENTS_MAX ||
    guest.bloated ||
    performance.now() - guest.startedAt > GUEST_AGE_MS_MAX
  );
}
