import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { useRetry } from "./retry.ts";

export interface LoadedResource<T> {
  /** The last value that was loaded. It remains available during a reload. */
  value: T | undefined;
  error: unknown;
  /** Loads the resource again. Resolves when the new value is set. */
  reload(): Promise<void>;
}

/**
 * Loads a resource and keeps its latest value. It calls `load` again whenever `inputs` change, every
 * `everyMs` milliseconds while the page is visible, and after a failure that may pass.
 */
export function useResource<T>(
  load: () => Promise<T>,
  inputs: readonly unknown[],
  everyMs?: number,
): LoadedResource<T> {
  const [state, setState] = useState<{ key: string; value?: T; error?: unknown }>({ key: "" });
  const key = JSON.stringify(inputs);
  const latest = useRef({ key, load });
  latest.current = { key, load };

  const reload = useCallback(async () => {
    const request = latest.current;
    try {
      const value = await request.load();
      if (latest.current.key === request.key) setState({ key: request.key, value });
    } catch (error) {
      if (latest.current.key !== request.key) return;
      setState((before) => (before.key === request.key ? { ...before, error } : { key, error }));
    }
  }, [key]);

  useEffect(() => {
    void reload();
    if (everyMs === undefined) return;
    const timer = setInterval(() => {
      if (!document.hidden) void reload();
    }, everyMs);
    return () => clearInterval(timer);
  }, [reload, everyMs]);
  useRetry(state.error, reload);

  return { value: state.key === key ? state.value : undefined, error: state.error, reload };
}
