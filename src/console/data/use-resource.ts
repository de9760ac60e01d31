import { useCallback, useEffect, useRef, useState } from "preact/hooks";

export interface LoadedResource<T> {
  /** The last answer; it stays while a reload is pending. */
  value: T | undefined;
  error: unknown;
  /** Resolves when the new answer is shown. */
  reload(): Promise<void>;
}

/** Calls `load` when `inputs` change, and every `everyMs` while the page is visible. */
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

  return { value: state.key === key ? state.value : undefined, error: state.error, reload };
}
