import type { Catalog } from "../../catalog/catalog.ts";
import type { Principal } from "../../catalog/model.ts";
import type { Route } from "../route.ts";
import { authenticate, permit } from "./authenticate.ts";

/**
 * Functions that authenticate a request again. Each returns the request's caller, or throws if the
 * request's token is refused.
 */
interface Judges {
  /**
   * Checks the token against the newest state, at the start of the transaction that makes the
   * request's change. Called again each time the store repeats the transaction.
   */
  judge(): Principal;
  /**
   * Checks the token against a state of the catalog that has all changes made before the request.
   * Called at most once.
   */
  readmit(): Principal;
}

/**
 * Whether the handler may run on this node's present state, because the transaction of its change
 * checks the token again. False if this state refuses the token, because newer changes may admit
 * it.
 */
export function isJudgedInChange(
  { needs, readsInChange = false }: Route,
  catalog: Catalog,
  headers: Headers,
): boolean {
  if (!readsInChange || needs === "open") return false;
  try {
    permit(authenticate(catalog, headers), needs);
    return true;
  } catch {
    return false;
  }
}

/**
 * Knows, for one request, whether this node has certainly read all catalog changes confirmed before
 * the request. A request that makes a change need not wait for this, because its transaction checks
 * the token against the newest state.
 */
export class UnprovenView {
  #isProven = false;

  constructor(private readonly catalog: Pick<Catalog, "current" | "conditionally">) {}

  /** Whether this node has surely read every catalog change confirmed before the request. */
  get isProven(): boolean {
    return this.#isProven;
  }

  /** Waits until this node has read every catalog change that was confirmed before the request. */
  async catchUp(): Promise<void> {
    if (!this.#isProven) await this.catalog.current();
    this.#isProven = true;
  }

  /**
   * Calls `handle` with `caller`, and returns the result. If this call made no change, or `judge`
   * refused the change (threw, or returned another caller), calls `handle` again on the newest
   * state, with the caller from `readmit`.
   */
  async change<T>(
    caller: Principal,
    { judge, readmit }: Judges,
    handle: (caller: Principal) => T | Promise<T>,
  ): Promise<T> {
    let outdated: unknown;
    const expectSame = () => {
      // The store decides the change on the newest state, or does not learn what became of it.
      this.#isProven = true;
      outdated = differenceOf(caller, judge);
      if (outdated !== undefined) throw outdated;
    };
    try {
      const answer = await this.catalog.conditionally(expectSame, async () => handle(caller));
      if (this.#isProven) return answer;
    } catch (error) {
      if (this.#isProven && error !== outdated) throw error;
    }
    await this.catchUp();
    return await handle(readmit());
  }
}

/**
 * Returns an error if `judge` throws or returns another caller than `caller`. Otherwise returns
 * undefined.
 */
function differenceOf(caller: Principal, judge: () => Principal): unknown {
  try {
    const isSame = Bun.deepEquals(judge(), caller);
    return isSame ? undefined : new Error("Expected the caller that was admitted, got another");
  } catch (error) {
    return error;
  }
}
