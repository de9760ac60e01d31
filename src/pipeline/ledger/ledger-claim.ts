import type { Store } from "../../store/store.ts";
import type { Table } from "../../store/table.ts";

/** Whose lanes write to a ledger that several nodes share. */
export interface LedgerOwner {
  /** What the node is called. */
  node: string;
  /** Of this claim, different from all others. */
  claim: string;
  /** Number of the owner's last commit. */
  commits: number;
}

/** Another node has claimed the ledger. */
export class ClaimLostError extends Error {
  constructor(owner: LedgerOwner | undefined) {
    super(`Expected the lanes to be this node's, but they are of ${owner?.node ?? "nobody"}`);
  }
}

const OWNER = "owner";
export const OWNERS = "owners";

/**
 * The one claim to the lanes of a shared ledger that counts, which is the last. Each commit looks
 * at the claim in its own transaction, so that a node that was replaced and does not know writes
 * nothing more.
 */
export class LedgerClaims {
  readonly #owners: Table<LedgerOwner, string>;

  constructor(store: Store) {
    this.#owners = store.table(OWNERS);
  }

  owner(): LedgerOwner | undefined {
    return this.#owners.get(OWNER);
  }

  /** Inside a change, like `expect` and `once`. */
  write(node: string, claim: string): void {
    this.#owners.put(OWNER, { node, claim, commits: 0 });
  }

  /** Throws `Lost` when another claim came later. */
  expect(claim: string): LedgerOwner {
    const owner = this.owner();
    if (owner?.claim !== claim) throw new ClaimLostError(owner);
    return owner;
  }

  /**
   * Runs a commit unless it took effect before: commits are numbered from 1, and one whose outcome
   * is not known is tried again before the next. What it wrote may have been changed by others
   * meanwhile.
   */
  applyOnce(claim: string, number: number, apply: () => void): void {
    const owner = this.expect(claim);
    if (owner.commits >= number) return;
    apply();
    this.#owners.put(OWNER, { ...owner, commits: number });
  }
}
