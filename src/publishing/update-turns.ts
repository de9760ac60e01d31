import { ConcurrencyLimiter } from "../concurrency/concurrency-limiter.ts";
import { KeyedMutex } from "../concurrency/keyed-mutex.ts";
import { ApiError } from "../errors.ts";
import { CODE_UPDATES_OF_WORKSPACE_MAX } from "../settings/limits.ts";

/**
 * Returns a function that runs simultaneous updates of one transformation or library one after the
 * other, because in parallel all but the first one would have to be repeated and tested again. The
 * number of updates that run or wait is bounded, because each keeps its body in memory; updates
 * beyond the bound get the error `unavailable`. An update whose caller hung up while it waited does
 * not run.
 */
export function createUpdateTurns() {
  const limiter = new ConcurrencyLimiter({ perOwner: CODE_UPDATES_OF_WORKSPACE_MAX });
  const byResource = new KeyedMutex();

  return async function inTurn<T>(
    { workspaceId, id, caller }: { workspaceId: string; id: string; caller?: AbortSignal },
    update: () => Promise<T>,
  ): Promise<T> {
    using permit = limiter.tryAcquire(workspaceId);
    if (permit === undefined) {
      const message = "Too many requests of this workspace update code now; send the request again";
      throw new ApiError("unavailable", message);
    }
    return await byResource.run(id, async () => {
      if (caller?.aborted) throw new ApiError("unavailable", "The caller hung up");
      return await update();
    });
  };
}
