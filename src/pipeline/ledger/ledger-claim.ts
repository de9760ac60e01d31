import type { Store } from "../../store/store.ts";
import type { Table } from "../../store/table.ts";

/**
 * The node that may write to a shared ledger (a partition's store of delivery progress), and its
 * claim.
 */
export interface LedgerOwner {
  node: string;
  /**
   * Unique id of the claim, by which a node gets the right to write. A node that claims again gets
   * another id.
   */
  claim: string;
  /** Number of the last commit under this claim; 0 before the first. */
  commits: number;
}

/** Callbacks to a node that has claimed a shared ledger, a partition's store of progress. */
export interface ClaimListener {
  /**
   * Called once, when another node has claimed the ledger, so that this node cannot write to it.
   */
  onLost(): void;
  /**
   * Called when other nodes may have requeued letters of these destinations, or begun or ended
   * jobs.
   */
  onReplaysChanged(destinationIds: Set<string>): void;
}

/**
 * Thrown when another node has claimed the ledger (a partition's store of delivery progress), so
 * that this node may not write any more.
 */
export class ClaimLostError extends Error {
  constructor(owner: LedgerOwner | undefined) {
    super(`Expected a ledger of this node, got one of ${owner?.node ?? "no node"}`);
  }
}

const OWNER = "owner";
export const OWNERS = "owners";

/**
 * Decides which node may write to a shared ledger (a partition's store of delivery progress): the
 * node that claimed it last. Each commit checks the claim in its own transaction. A replaced node
 * therefore cannot write, even if it has not noticed that it was replaced.
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

  /** Applies a change of the node that has this claim. Throws when it is not the latest claim. */
  run(claim: string, apply: () => void): void {
    this.expect(claim);
    apply();
  }

  /**
   * Applies a commit unless a commit with this number was applied already. Commits under one claim
   * are numbered from 1. A commit with an unknown result is retried before the next one is made;
   * applying it twice could overwrite changes that other nodes made in between.
   */
  applyOnce(claim: string, number: number, apply: () => void): void {
    const owner = this.expect(claim);
    if (owner.commits >= number) return;
    apply();
    this.#owners.put(OWNER, { ...owner, commits: number });
  }
}
