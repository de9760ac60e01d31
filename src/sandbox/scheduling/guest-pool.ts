import { atMost, FairSemaphore } from "../../concurrency/fair-semaphore.ts";
import { messageOf } from "../../errors.ts";
import { GUEST_IDLE_MS_MAX } from "../../settings/limits.ts";
import type { SandboxLimits } from "../limits.ts";
import type { GuestLanguage } from "../program.ts";
import { SandboxUnavailable } from "../sandbox.ts";
import type { TestBudget } from "../test-budget.ts";
import { GuestAdmission } from "./guest-admission.ts";
import { GuestLossBackoff } from "./guest-loss-backoff.ts";
import type { GuestStarter } from "./guest-starter.ts";
import { ThrowAwayGuests } from "./throw-away-guests.ts";
import { type GuestSource, WorkspaceGuest } from "./workspace-guest.ts";

const SWEEP_MS = 5_000;
/** Memory of a guest that has just begun. */
const NEW_GUEST_BYTES = 16 << 20;

/**
 * Guests by workspace and language: no guest ever serves two of either. Each tenant's work is done
 * in order, and tenants work side by side. Throw-away guests have places of their own, so that
 * whoever tests code holds up no live event.
 */
export class GuestPool {
  readonly #starter: GuestStarter;
  readonly #tenants = new Map<string, WorkspaceGuest>();
  readonly #residence: GuestAdmission<WorkspaceGuest>;
  readonly #freeLosses: number;
  readonly #throwAways: FairSemaphore;
  readonly #sweep: Timer;

  constructor(starter: GuestStarter, limits: SandboxLimits) {
    const { guests, memoryBytes, throwAways, throwAwaysOfWorkspace } = limits;
    this.#starter = starter;
    this.#freeLosses = limits.freeLosses;
    this.#residence = new GuestAdmission({
      guestsMax: guests,
      hasMemory: () => starter.memoryBytes + NEW_GUEST_BYTES <= memoryBytes,
      isOverMemory: () => starter.memoryBytes > memoryBytes,
    });
    starter.onWatch = () => this.#residence.evictOverMemory();
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
      tenant.enqueue({
        bytes,
        perform: (source) => work(source).then(resolve, reject),
        refuse: reject,
      });
    });
  }

  /**
   * Does work in a guest that serves nothing else and ends after it, or with the budget. Rejects
   * with `SandboxUnavailable`.
   */
  async useThrowAway<T>(
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
      source.close();
    }
  }

  /** Workspaces and languages that wait for a guest. */
  get waitingCount(): number {
    return this.#residence.waiting;
  }

  /** Workspaces and languages whose next guest is late, since their code has cost so many. */
  get backingOffCount(): number {
    return [...this.#tenants.values()].filter(({ isBackingOff }) => isBackingOff).length;
  }

  close(): void {
    clearInterval(this.#sweep);
    this.#residence.close();
    const error = new SandboxUnavailable("Sandbox is closed");
    for (const tenant of this.#tenants.values()) tenant.rejectAll(error);
  }

  #tenantFor(language: GuestLanguage): WorkspaceGuest {
    const losses = new GuestLossBackoff(this.#freeLosses);
    return new WorkspaceGuest(this.#starter, this.#residence, language, losses);
  }

  #retireIdle(): void {
    const before = performance.now() - GUEST_IDLE_MS_MAX;
    for (const [key, tenant] of this.#tenants) {
      if (tenant.isForgettable) this.#tenants.delete(key);
      else if ((tenant.idleSince ?? Infinity) < before) tenant.evict(false);
    }
  }
}
