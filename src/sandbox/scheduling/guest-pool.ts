import { atMost, FairSemaphore } from "../../concurrency/fair-semaphore.ts";
import { messageOf } from "../../errors.ts";
import { GUEST_IDLE_MS_MAX } from "../../settings/limits.ts";
import type { SandboxLimits } from "../limits.ts";
import type { GuestUse } from "../process/guest-source.ts";
import type { GuestLanguage, GuestOwner } from "../program.ts";
import { SandboxUnavailable } from "../sandbox.ts";
import type { TestBudget } from "../test-budget.ts";
import { GuestAdmission } from "./guest-admission.ts";
import { GuestLossBackoff } from "./guest-loss-backoff.ts";
import type { GuestStarter } from "./guest-starter.ts";
import { ThrowAwayGuests } from "./throw-away-guests.ts";
import { WorkspaceGuest } from "./workspace-guest.ts";

const SWEEP_MS = 5_000;
/**
 * Memory in bytes that must be free to start one more guest process: the usual memory of a guest
 * after its start.
 */
const NEW_GUEST_BYTES = 16 << 20;

/**
 * Runs work in guests (processes that run user code): one or two for each pair of workspace and
 * language. A guest never runs code of two workspaces or of two languages, and gets its work in
 * order.
 *
 * The second guest runs programs that use much CPU time or end their guest. A pair gets it only if
 * no other guest has to end for it. Tests of code run in throw-away guests, which are limited
 * separately so that tests delay no live event.
 */
export class GuestPool {
  readonly #guests = new Map<string, { first: WorkspaceGuest; second?: WorkspaceGuest }>();
  readonly #admission: GuestAdmission<WorkspaceGuest>;
  readonly #throwAways: FairSemaphore;
  /**
   * Guest processes that have parsed user code but have not run it, kept for the next work of the
   * same request. The key is the test budget of this request.
   */
  readonly #unused = new Map<TestBudget, ThrowAwayGuests>();
  readonly #sweep = setInterval(() => this.#evictIdle(), SWEEP_MS);

  constructor(
    private readonly starter: GuestStarter,
    private readonly limits: SandboxLimits,
  ) {
    const { guests, memoryBytes, throwAways, throwAwaysOfWorkspace } = limits;
    this.#admission = new GuestAdmission({
      guestsMax: guests,
      hasMemory: () => starter.memoryBytes + NEW_GUEST_BYTES <= memoryBytes,
      isOverMemory: () => starter.memoryBytes > memoryBytes,
    });
    starter.onWatch = () => this.#admission.evictOverMemory();
    this.#throwAways = new FairSemaphore(throwAways, atMost(throwAwaysOfWorkspace));
  }

  /**
   * Does `work` in the first (main) guest process of a workspace and language. `bytes` is the
   * approximate size of the data that the work sends to the guest. Rejects with
   * `SandboxUnavailable` when no guest can be started.
   */
  use<T>(owner: GuestOwner, bytes: number, work: GuestUse<T>): Promise<T> {
    return perform(this.#guestsOf(owner).first, bytes, work);
  }

  /**
   * Does `work` in the second guest process of a workspace and language, or in the first one if
   * there is no room for two. The parameters and errors are the same as those of `use`.
   */
  useSecond<T>(owner: GuestOwner, bytes: number, work: GuestUse<T>): Promise<T> {
    const guests = this.#guestsOf(owner);
    guests.second ??= this.#createGuest(owner.language, guests.first);
    return perform(guests.second, bytes, work);
  }

  /**
   * Does `work` in a guest process that only the request with this test budget uses. The guest ends
   * with the work, or earlier with the budget. Rejects with `SandboxUnavailable` when no guest can
   * be started.
   */
  async useThrowAway<T>(owner: GuestOwner, budget: TestBudget, work: GuestUse<T>): Promise<T> {
    using guests = await this.#throwAwayGuests(owner, budget);
    return await work(guests);
  }

  /**
   * Does `work` that runs no user code, such as parsing, and keeps the guest process for the next
   * work of the request, because a Python guest takes 0.3 s to start. Otherwise like
   * `useThrowAway`.
   */
  async parseInThrowAway<T>(owner: GuestOwner, budget: TestBudget, work: GuestUse<T>): Promise<T> {
    const guests = await this.#throwAwayGuests(owner, budget);
    try {
      return await work(guests);
    } finally {
      if (!guests.isAlive || this.#unused.has(budget)) guests[Symbol.dispose]();
      else {
        this.#unused.set(budget, guests);
        budget.onDispose(() => this.#takeUnused(budget)?.[Symbol.dispose]());
      }
    }
  }

  async #throwAwayGuests(
    { workspaceId, language }: GuestOwner,
    budget: TestBudget,
  ): Promise<ThrowAwayGuests> {
    const unused = this.#takeUnused(budget);
    if (unused?.language === language && unused.isAlive) return unused;
    // A request that waits for a permit must hold none, or requests could wait for each other.
    unused?.[Symbol.dispose]();
    const permit = await this.#throwAways.acquire(workspaceId, budget.signal).catch((error) => {
      throw new SandboxUnavailable(messageOf(error));
    });
    return new ThrowAwayGuests(this.starter, language, budget, permit);
  }

  #takeUnused(budget: TestBudget): ThrowAwayGuests | undefined {
    const guests = this.#unused.get(budget);
    this.#unused.delete(budget);
    return guests;
  }

  /** Number of pairs of workspace and language that wait for a guest process. */
  get waitingCount(): number {
    return this.#admission.waiting;
  }

  /**
   * Number of pairs of workspace and language whose next guest process is delayed, because their
   * code has recently ended several guests.
   */
  get backingOffCount(): number {
    const guests = [...this.#guests.values()];
    return guests.filter(({ first, second }) => first.isBackingOff || second?.isBackingOff).length;
  }

  close(): void {
    clearInterval(this.#sweep);
    this.#admission.close();
    const error = new SandboxUnavailable("Sandbox is closed");
    for (const { first, second } of this.#guests.values()) {
      second?.close(error);
      first.close(error);
    }
  }

  #guestsOf({ workspaceId, language }: GuestOwner) {
    const key = `${language} ${workspaceId}`;
    return this.#guests.getOrInsertComputed(key, () => ({ first: this.#createGuest(language) }));
  }

  #createGuest(language: GuestLanguage, first?: WorkspaceGuest): WorkspaceGuest {
    const losses = new GuestLossBackoff(this.limits.freeLosses);
    return new WorkspaceGuest(this.starter, this.#admission, language, losses, first);
  }

  #evictIdle(): void {
    const before = performance.now() - GUEST_IDLE_MS_MAX;
    for (const [key, guests] of this.#guests) {
      const { first, second } = guests;
      if (second?.isForgettable) delete guests.second;
      if (first.isForgettable && !guests.second) this.#guests.delete(key);
      for (const guest of [first, second]) {
        if ((guest?.idleSince ?? Infinity) < before) guest!.evict(false);
      }
    }
  }
}

function perform<T>(guest: WorkspaceGuest, bytes: number, work: GuestUse<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    guest.enqueue({ bytes, perform: (source) => work(source).then(resolve, reject), reject });
  });
}
