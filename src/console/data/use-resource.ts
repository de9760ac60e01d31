import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { RequestRefused } from "../../api/client.ts";
import { asksToWait, useRetry } from "./retry.ts";

export type LoadedResource<T> = ReturnType<typeof useResource<T>>;

interface LoadState<T> {
  value?: T;
  error?: unknown;
}

/**
 * Loads a resource and keeps its latest value. It calls `load` again whenever `inputs` change,
 * every `everyMs` milliseconds while the page is visible and no load is in progress, and after a
 * temporary failure.
 */
export function useResource<T>(
  load: () => Promise<T>,
  inputs: readonly unknown[],
  everyMs?: number,
) {
  const [state, setState] = useState<LoadState<T> & { key: string }>({ key: "" });
  const key = JSON.stringify(inputs);
  const latest = useRef({ key, load });
  latest.current = { key, load };
  /** Number of loads in progress. */
  const loading = useRef(0);
  /**
   * `begun` is the number of loads that have begun. `shown` is the number of the load whose result
   * is shown: 1 for the first load.
   */
  const order = useRef({ begun: 0, shown: 0 });
  /** Whether the server has asked clients to wait, so that polling pauses. */
  const isHeldBack = useRef(false);

  const reload = useCallback(async () => {
    const request = latest.current;
    const number = ++order.current.begun;
    /**
     * Returns whether to show the result of this load: its inputs are the current ones, and no
     * later load's result is shown. If so, counts the load as shown.
     */
    const takesPlace = () => {
      if (latest.current.key !== request.key || number < order.current.shown) return false;
      order.current.shown = number;
      return true;
    };
    loading.current++;
    try {
      const value = await request.load();
      isHeldBack.current = false;
      if (takesPlace()) setState({ key: request.key, value });
    } catch (error) {
      if (!takesPlace()) return;
      isHeldBack.current = asksToWait(error);
      const isGone = error instanceof RequestRefused && error.status === 404;
      setState((before) =>
        before.key === request.key && !isGone ? { ...before, error } : { key, error },
      );
    } finally {
      loading.current--;
    }
  }, [key]);

  useEffect(() => {
    void reload();
    if (everyMs === undefined) return;
    const timer = setInterval(() => {
      if (!document.hidden && loading.current === 0 && !isHeldBack.current) void reload();
    }, everyMs);
    return () => clearInterval(timer);
  }, [reload, everyMs]);
  // The result for earlier inputs says nothing about these.
  const { value, error }: LoadState<T> = state.key === key ? state : {};
  useRetry(error, reload);

  return {
    /**
     * The last value that was loaded. It remains available during a reload and after a failed one,
     * unless the server answers that it no longer exists.
     */
    value,
    error,
    /** Loads the resource again. Resolves once `value` or `error` has the result of the load. */
    reload,
  };
}
