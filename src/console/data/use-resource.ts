import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type ClientKey, type InputOf, RequestRefused } from "../../api/client.ts";
import { asksToWait, useRetry } from "./retry.ts";
import { client } from "./session.ts";

export type LoadedResource<T> = ReturnType<typeof useResource<T>>;

interface LoadState<T> {
  value?: T;
  error?: unknown;
}

/**
 * Component state for something loaded from the server: its latest value, and the error of the last
 * load. Calls `load` when `inputs` change, after a temporary failure and, while the page is
 * visible, every `everyMs` milliseconds.
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
   * Loads are numbered from 1. `begun` is the number of the latest load, and `shown` that of the
   * load whose result is shown. Both are 0 at first.
   */
  const order = useRef({ begun: 0, shown: 0 });
  /** Whether polling is suspended because the server has asked for a pause (Retry-After). */
  const isHeldBack = useRef(false);

  const reload = useCallback(async () => {
    const request = latest.current;
    const number = ++order.current.begun;
    /**
     * Whether to show the result of this load. If true, also records in `order` that it is shown.
     * False if `inputs` have changed since, or the result of a later load is shown.
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
  }, [reload]);
  // An effect of its own, because a pause of the polling must keep the value that is shown.
  useEffect(() => {
    if (everyMs === undefined) return;
    const timer = setInterval(() => {
      if (!document.hidden && loading.current === 0 && !isHeldBack.current) void reload();
    }, everyMs);
    return () => clearInterval(timer);
  }, [reload, everyMs]);
  // The result for earlier inputs says nothing about the present inputs.
  const { value, error }: LoadState<T> = state.key === key ? state : {};
  useRetry(error, reload);

  return {
    /**
     * The value of the last successful load for the present `inputs`. A failed reload does not
     * remove it, unless the server answers with status 404.
     */
    value,
    error,
    /** Loads the resource again. Resolves once `value` or `error` has the result of the load. */
    reload,
  };
}

/** Component state for the answer to the API request `key` with `input`. `useResource` loads it. */
export function useAnswer<Key extends ClientKey>(
  key: Key,
  input?: InputOf<Key>[0],
  everyMs?: number,
) {
  const load = () => client.call(key, ...([input] as InputOf<Key>));
  return useResource(load, [key, input], everyMs);
}
