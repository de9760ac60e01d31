import type { Store } from "../../store/store.ts";
import type { Table } from "../../store/table.ts";

/**
 * The node that may write to a shared ledger (a partition's store of delivery progress), and its
 * claim.
 */
export interface LedgerOwner {
  node: string;
  /** Unique id of the claim. Each time a node claims the ledger, it gets a new id. */
  claim: string;
  /** Number of the last commit under this claim; 0 before the first. */
  commits: number;
}

/** Callbacks to a node that claimed a shared ledger. */
export interface ClaimListener {
  /**
   * Called once, when another node has claimed the ledger, so that this node cannot write to it.
   */
  onLost(): void;
  /**
   * Called when other nodes may have requeued letters of the destinations with the given ids, or
   * may have started or ended replay jobs for them.
   */
  onReplaysChanged(destinationIds: Set<string>): void;
}

/** Thrown when another node has claimed the ledger. This node then may not write to it. */
export class ClaimLostError extends Error {
  constructor(owner: LedgerOwner | undefined) {
    super(`Expected a ledger of this node, got one of ${owner?.node ?? "no node"}`);
  }
}

const OWNER = "owner";
export const OWNERS = "owners";

/**
 * Decides which node may write to a shared ledger: the node that claimed it last. Each commit
 * checks the claim in its own transaction. A replaced node therefore cannot write, even if it has
 * not noticed that it was replaced.
 */
export class LedgerClaims {
  readonly #owners: Table<LedgerOwner, string>;

  constructor(store: Store) {
    this.#owners = store.table(OWNERS);
  }

  owner(): LedgerOwner | undefined {
    return this.#owners.get(OWNER);
  }

  /**
   * Claims the ledger for a node. Call only inside a transaction of the store, like `expect` and
   * `applyOnce`.
   */
  write(node: string, claim: string): void {
    this.#owners.put(OWNER, { node, claim, commits: 0 });
  }

  /** Returns the current owner. Throws `ClaimLostError` when `claim` is not the latest claim. */
  expect(claim: string): LedgerOwner {
    const owner = this.owner();
    if (owner?.claim !== claim) throw new ClaimLostError(owner);
    return owner;
  }

  /**
   * Applies a change by the node with `claim`. Throws `ClaimLostError` when `claim` is not the
   * latest claim.
   */
  run(claim: string, apply: () => void): void {
    this.expect(claim);
    apply();
  }

  /**
   * Applies a commit unless a commit with its number was applied already. The commits of a claim
   * are numbered from 1. If it is unknown whether a commit was written, it is retried before the
   * next one is made. A commit that is applied twice could overwrite changes that other nodes made
   * in between. Throws `ClaimLostError` when `claim` is not the latest claim.
   */
  applyOnce(claim: string, number: number, apply: () => void): void {
    const owner = this.expect(claim);
    if (owner.commits >= number) return;
    apply();
    this.#owners.put(OWNER, { ...owner, commits: number });
  }
}
