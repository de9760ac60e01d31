import { atMost, FairSemaphore } from "../concurrency/fair-semaphore.ts";
import { messageOf } from "../errors.ts";
import { GUEST_IDLE_MS_MAX } from "../settings/limits.ts";
import type { GuestStarter } from "./guest-starter.ts";
import type { SandboxLimits } from "./limits.ts";
import { Losses } from "./losses.ts";
import type { GuestLanguage } from "./program.ts";
import { Residence } from "./residence.ts";
import { SandboxUnavailable } from "./sandbox.ts";
import { type GuestSource, Tenant } from "./tenant.ts";
import type { TestBudget } from "./test-budget.ts";
import { ThrowAwayGuests } from "./throw-away-guests.ts";

const SWEEP_MS = 5_000;
/** Memory of a guest that has just begun. */
const NEW_GUEST_BYTES = 16 << 20;

/**
 * Guests by workspace and language: no guest ever serves two of either. Each tenant's work is done
 * in order, and tenants work side by side. Throw-away guests have places of their own, so that
 * whoever tests code holds up no live event.
 */
export class Pool {
  readonly #starter: GuestStarter;
  readonly #tenants = new Map<string, Tenant>();
  readonly #residence: Residence<Tenant>;
  readonly #freeLosses: number;
  readonly #throwAways: FairSemaphore;
  readonly #sweep: Timer;

  constructor(starter: GuestStarter, limits: SandboxLimits) {
    const { guests, memoryBytes, throwAways, throwAwaysOfWorkspace } = limits;
    this.#starter = starter;
    this.#freeLosses = limits.freeLosses;
    this.#residence = new Residence({
      residentsMax: guests,
      hasRoom: () => starter.bytes + NEW_GUEST_BYTES <= memoryBytes,
      isOver: () => starter.bytes > memoryBytes,
    });
    starter.onLook = () => this.#residence.shed();
    this.#throwAways = new FairSemaphore(throwAways, atMost(throwAwaysOfWorkspace));
    this.#sweep = setInterval(() => this.#retireIdle(), SWEEP_MS);
  }

  /**
   * Does work in the guest of a workspace, to which about so many bytes go. Rejects with
   * `SandboxUnavailable`.
   */
  use<T>(
    workspaceId: string,
    language: GuestLanguage,
    bytes: number,
    work: (source: GuestSource) => Promise<T>,
  ): Promise<T> {
    const key = `${language} ${workspaceId}`;
    const tenant = this.#tenants.get(key) ?? this.#tenantFor(language);
    this.#tenants.set(key, tenant);
    return new Promise<T>((resolve, reject) => {
      tenant.do({ bytes, perform: (source) => work(source).then(resolve, reject), refuse: reject });
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
    work: (source: GuestSource) => Promise<T>,
  ): Promise<T> {
    using _permit = await this.#throwAways.acquire(workspaceId, budget.signal).catch((error) => {
      throw new SandboxUnavailable(messageOf(error));
    });
    const source = new ThrowAwayGuests(this.#starter, language, budget);
    try {
      return await work(source);
    } finally {
      source.leave();
    }
  }

  /** Workspaces and languages that wait for a guest. */
  get awaited(): number {
    return this.#residence.awaited;
  }

  /** Workspaces and languages whose next guest is late, since their code has cost so many. */
  get paused(): number {
    return [...this.#tenants.values()].filter(({ isPaused }) => isPaused).length;
  }

  close(): void {
    clearInterval(this.#sweep);
    this.#residence.close();
    const error = new SandboxUnavailable("Sandbox is closed");
    for (const tenant of this.#tenants.values()) tenant.refuse(error);
  }

  #tenantFor(language: GuestLanguage): Tenant {
    const losses = new Losses(this.#freeLosses);
    return new Tenant(this.#starter, this.#residence, language, losses);
  }

  #retireIdle(): void {
    const before = performance.now() - GUEST_IDLE_MS_MAX;
    for (const [key, tenant] of this.#tenants) {
      if (tenant.isGone) this.#tenants.delete(key);
      else if ((tenant.idleSince ?? Infinity) < before) tenant.yield(false);
    }
  }
}
