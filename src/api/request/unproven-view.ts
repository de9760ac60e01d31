import type { Catalog } from "../../catalog/catalog.ts";
import type { Principal } from "../../catalog/model.ts";
import type { Route } from "../route.ts";
import { authenticate, permit } from "./authenticate.ts";

/** Functions that judge a request's token on the present state. They throw if it is refused. */
interface Judges {
  /** Called within a transaction, perhaps several times. */
  judge(): Principal;
  /** Called at most once, on a state that is not older than the request. */
  readmit(): Principal;
}

/**
 * Whether a request is judged on the state that it changes, so that this node's view of the catalog
 * need not be brought up to date before. A view that refuses the token may lack the change that
 * allows it.
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
 * View of the catalog that may lack changes which were confirmed before a request began. To ask for
 * them takes a request to the brokers. A change takes effect on the newest state alone, so if the
 * request makes one, it shows that the view was current, and nothing has to be asked for.
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
   * Returns what `handle` returns for the caller. `handle` makes one change, and reads the catalog
   * only within it or after it. The change has no effect unless `judge` returns the same caller on
   * the state that is changed. If it does not, or if `handle` ends without a change, calls `handle`
   * again on a current view, for the caller that `readmit` returns.
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

/** Returns an error unless `judge` returns this caller. */
function differenceOf(caller: Principal, judge: () => Principal): unknown {
  try {
    const isSame = Bun.deepEquals(judge(), caller);
    return isSame ? undefined : new Error("Expected the caller that was admitted, got another");
  } catch (error) {
    return error;
  }
}
