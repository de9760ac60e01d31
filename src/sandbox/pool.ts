import { messageOf } from "../errors.ts";
import { FairPlaces, upTo } from "../fair-places.ts";
import { GUEST_IDLE_MS_MAX } from "../limits.ts";
import type { Nursery } from "./guest-starter.ts";
import type { SandboxLimits } from "./limits.ts";
import { type GuestLanguage, SandboxUnavailable } from "./program.ts";
import { Residence } from "./residence.ts";
import { type Seat, Tenant } from "./tenant.ts";
import type { TestBudget } from "./test-budget.ts";
import { ThrowAwaySeat } from "./throw-away.ts";

const SWEEP_MS = 5_000;
/** What a guest takes that has just begun. */
const NEW_GUEST_BYTES = 16 << 20;

/**
 * Guests by workspace and language: no guest ever serves two. Each tenant's work is done in
 * order, tenants side by side. Throw-away guests have places of their own: whoever tests code
 * holds up no live event.
 */
export class Pool {
  readonly #nursery: Nursery;
  readonly #tenants = new Map<string, Tenant>();
  readonly #residence: Residence<Tenant>;
  readonly #throwAwayPlaces: FairPlaces;
  readonly #sweep: Timer;

  constructor(nursery: Nursery, limits: SandboxLimits) {
    const { guests, memoryBytes, throwAways, throwAwaysOfWorkspace } = limits;
    this.#nursery = nursery;
    this.#residence = new Residence({
      residentsMax: guests,
      hasRoom: () => nursery.bytes + NEW_GUEST_BYTES <= memoryBytes,
      isOver: () => nursery.bytes > memoryBytes,
    });
    nursery.onLook = () => this.#residence.shed();
    this.#throwAwayPlaces = new FairPlaces(throwAways, upTo(throwAwaysOfWorkspace));
    this.#sweep = setInterval(() => this.#retireIdle(), SWEEP_MS);
  }

  /** Does work in the guest of a workspace. Rejects with `SandboxUnavailable`. */
  use<T>(
    workspaceId: string,
    language: GuestLanguage,
    work: (seat: Seat) => Promise<T>,
  ): Promise<T> {
    const key = `${language} ${workspaceId}`;
    const tenant = this.#tenants.get(key) ?? new Tenant(this.#nursery, this.#residence, language);
    this.#tenants.set(key, tenant);
    return new Promise<T>((resolve, reject) => {
      tenant.do({ perform: (seat) => work(seat).then(resolve, reject), refuse: reject });
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

  /** Workspaces and languages that wait for a guest. */
  get awaited(): number {
    return this.#residence.awaited;
  }

  close(): void {
    clearInterval(this.#sweep);
    this.#residence.close();
    const error = new SandboxUnavailable("Sandbox is closed");
    for (const tenant of this.#tenants.values()) tenant.refuse(error);
  }

  #retireIdle(): void {
    const before = performance.now() - GUEST_IDLE_MS_MAX;
    for (const [key, tenant] of this.#tenants) {
      if (tenant.isGone) this.#tenants.delete(key);
      else if ((tenant.idleSince ?? Infinity) < before) tenant.yield(false);
    }
  }
}
