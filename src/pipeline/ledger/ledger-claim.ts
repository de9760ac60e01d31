import type { Store } from "../../store/store.ts";
import type { Table } from "../../store/table.ts";

/** The node that may write to a shared ledger (a partition's store of delivery progress). */
export interface LedgerOwner {
  node: string;
  /** Id of the node's claim, new each time that a node claims the ledger. */
  claim: string;
  /** Number of commits under this claim; the last commit has this number. */
  commits: number;
}

/** Functions called after changes of the shared ledger that this node has claimed. */
export interface ClaimListener {
  /**
   * Called once, when another node has claimed the ledger and this node can therefore not write to
   * it.
   */
  onLost(): void;
  /**
   * Called when other nodes may have changed what is replayed to the destinations in
   * `destinationIds`. They may have requeued dead letters, or started or ended replay jobs.
   */
  onReplaysChanged(destinationIds: Set<string>): void;
}

/** Thrown when this node must not write to the ledger, because another node has claimed it. */
export class ClaimLostError extends Error {
  constructor(owner: LedgerOwner | undefined) {
    super(`Expected a ledger of this node, got one of ${owner?.node ?? "no node"}`);
  }
}

/** Key of the only row in the table `OWNERS`, which names the node that may write to the ledger. */
const OWNER = "owner";
export const OWNERS = "owners";

/**
 * Decides which node may write to a shared ledger: the node that claimed it last. Each commit
 * checks the claim in its own transaction, because a previous owner may not have noticed the new
 * claim yet.
 */
export class LedgerClaims {
  readonly #owners: Table<LedgerOwner, string>;

  constructor(store: Store) {
    this.#owners = store.table(OWNERS);
  }

  owner(): LedgerOwner | undefined {
    return this.#owners.get(OWNER);
  }

  /** Claims the ledger for a node. This method and those below must be called in a transaction. */
  write(node: string, claim: string): void {
    this.#owners.put(OWNER, { node, claim, commits: 0 });
  }

  /** Returns the current owner. Throws `ClaimLostError` when `claim` is not the owner's claim. */
  expect(claim: string): LedgerOwner {
    const owner = this.owner();
    if (owner?.claim !== claim) throw new ClaimLostError(owner);
    return owner;
  }

  /**
   * Calls `apply`, which changes the ledger, if `claim` is the id of the latest claim on the
   * ledger. Otherwise throws `ClaimLostError`, because the ledger was claimed again since then.
   */
  run(claim: string, apply: () => void): void {
    this.expect(claim);
    apply();
  }

  /**
   * Calls `apply` for the commit `number` (counted from 1 in each claim), unless this commit was
   * made before: a node repeats a commit whose result is unknown. Throws `ClaimLostError` when
   * `claim` is not the owner's claim.
   */
  applyOnce(claim: string, number: number, apply: () => void): void {
    const owner = this.expect(claim);
    if (owner.commits >= number) return;
    apply();
    this.#owners.put(OWNER, { ...owner, commits: number });
  }
}
