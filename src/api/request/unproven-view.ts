import type { Catalog } from "../../catalog/catalog.ts";
import type { Principal } from "../../catalog/model.ts";
import type { Route } from "../route.ts";
import { authenticate, permit } from "./authenticate.ts";

/** Functions that return a request's caller, or throw if the request's token is refused. */
interface Judges {
  /**
   * Returns the caller by the state that a change works on. Called within the transaction of the
   * change, perhaps several times.
   */
  judge(): Principal;
  /** Returns the caller by a state that is not older than the request. Called at most once. */
  readmit(): Principal;
}

/**
 * Whether a request's token is checked within the change that the request makes, so that this node
 * need not read the newest changes of the catalog first. False if the node's present view refuses
 * the token, because the view may lack the change that makes the token valid.
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
 * View of the catalog that may lack changes that were confirmed before a request began. Finding out
 * takes a request to the brokers. A change takes effect only on the newest state. So if the request
 * makes a change, the change proves that the view was current, and the brokers are not asked.
 */
export class UnprovenView {
  readonly #catalog: Pick<Catalog, "current" | "conditionally">;
  #isProven = false;

  constructor(catalog: Pick<Catalog, "current" | "conditionally">) {
    this.#catalog = catalog;
  }

  /** Whether the view has every change that was confirmed before the request. */
  get isProven(): boolean {
    return this.#isProven;
  }

  /** Waits until the view has every change that was confirmed before the request. */
  async catchUp(): Promise<void> {
    if (!this.#isProven) await this.#catalog.current();
    this.#isProven = true;
  }

  /**
   * Returns what `handle` returns for `caller`. `handle` makes one change, and reads the catalog
   * only within the change or after it. The change has no effect unless `judge` returns the same
   * caller on the state that the change works on. If `judge` does not, or if `handle` ends without
   * a change, brings the view up to date and calls `handle` again, for the caller that `readmit`
   * returns.
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
      const answer = await this.#catalog.conditionally(expectSame, async () => handle(caller));
      if (this.#isProven) return answer;
    } catch (error) {
      if (this.#isProven && error !== outdated) throw error;
    }
    await this.catchUp();
    return await handle(readmit());
  }
}

/** Returns an error if `judge` throws or returns another caller. Otherwise returns undefined. */
function differenceOf(caller: Principal, judge: () => Principal): unknown {
  try {
    const isSame = Bun.deepEquals(judge(), caller);
    return isSame ? undefined : new Error("Expected the caller that was admitted, got another");
  } catch (error) {
    return error;
  }
}
