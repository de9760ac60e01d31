import type { Store } from "../../store/store.ts";
import type { Table } from "../../store/table.ts";

/** The node whose lanes write to a shared ledger. */
export interface LedgerOwner {
  /** The name of the node. */
  node: string;
  /** Id of this claim, different from all others. */
  claim: string;
  /** Number of the owner's last commit. */
  commits: number;
}

/** Another node has claimed the ledger. */
export class ClaimLostError extends Error {
  constructor(owner: LedgerOwner | undefined) {
    super(`Expected a ledger of this node, got one of ${owner?.node ?? "no node"}`);
  }
}

const OWNER = "owner";
export const OWNERS = "owners";

/**
 * The claim to the lanes of a shared ledger: only the last one counts. Each commit checks the claim
 * in its own transaction, so that a node that was replaced and has not noticed writes nothing more.
 */
export class LedgerClaims {
  readonly #owners: Table<LedgerOwner, string>;

  constructor(store: Store) {
    this.#owners = store.table(OWNERS);
  }

  owner(): LedgerOwner | undefined {
    return this.#owners.get(OWNER);
  }

  /** Writes a claim. Only inside a change, like `expect` and `applyOnce`. */
  write(node: string, claim: string): void {
    this.#owners.put(OWNER, { node, claim, commits: 0 });
  }

  /** Throws `ClaimLostError` when another claim came later. */
  expect(claim: string): LedgerOwner {
    const owner = this.owner();
    if (owner?.claim !== claim) throw new ClaimLostError(owner);
    return owner;
  }

  /**
   * Applies a commit unless it was applied before: commits are numbered from 1, and one whose
   * result is not known is tried again before the next. Other nodes may have changed its writes
   * meanwhile.
   */
  applyOnce(claim: string, number: number, apply: () => void): void {
    const owner = this.expect(claim);
    if (owner.commits >= number) return;
    apply();
    this.#owners.put(OWNER, { ...owner, commits: number });
  }
}
