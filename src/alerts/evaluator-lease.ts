import type { Alerts } from "../catalog/alerts/alerts.ts";
import type { LeaseRow } from "../catalog/alerts/tables.ts";

/**
 * Number of consecutive checks after which a process takes the lease from its holder, if none of
 * these checks found the lease renewed.
 */
const CHECKS_WITHOUT_RENEWAL_MAX = 4;

/**
 * Lease of the alert evaluator. The one process of a cluster that holds the lease evaluates the
 * rules and sends notifications.
 */
export class EvaluatorLease {
  readonly id = crypto.randomUUID();
  /**
   * Lease that `renewOrTake` read last. Calls while this process holds the lease do not change this
   * field. `#checksWithoutRenewal` is the number of calls that have found this lease again,
   * unchanged.
   */
  #seen: LeaseRow | undefined;
  #checksWithoutRenewal = 0;

  /** `isShared` says whether other nodes use the same catalog and compete for the lease. */
  constructor(
    private readonly alerts: Alerts,
    private readonly isShared: boolean,
  ) {}

  get isHeld(): boolean {
    return this.alerts.lease()?.holder === this.id;
  }

  /**
   * Renews the lease if this process holds it. Otherwise, takes the lease if it is free, not shared
   * with other nodes, or found unrenewed by `CHECKS_WITHOUT_RENEWAL_MAX` consecutive calls. Calls
   * are counted because elapsed time would include pauses of this process.
   */
  async renewOrTake(): Promise<void> {
    const lease = this.alerts.lease();
    if (lease?.holder === this.id) {
      if (this.isShared) await this.alerts.renewLease(this.id);
      return;
    }
    const isRenewed =
      lease?.holder !== this.#seen?.holder || lease?.renewals !== this.#seen?.renewals;
    this.#checksWithoutRenewal = isRenewed ? 0 : this.#checksWithoutRenewal + 1;
    this.#seen = lease;
    const isDead = this.#checksWithoutRenewal >= CHECKS_WITHOUT_RENEWAL_MAX;
    if (lease === undefined || !this.isShared || isDead) {
      await this.alerts.takeLease(this.id, lease);
    }
  }

  async release(): Promise<void> {
    if (this.isHeld) await this.alerts.releaseLease(this.id);
  }
}
