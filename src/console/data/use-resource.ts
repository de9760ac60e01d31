import { useCallback, useEffect, useRef, useState } from "preact/hooks";

export interface Resource<T> {
  /** The last answer; it stays while a newer one is asked for. */
  value: T | undefined;
  error: unknown;
  /** Asks again; resolves when the answer is shown. */
  reload(): Promise<void>;
}

/** What `load` answers: again when `inputs` change, and every `everyMs` while the page is seen. */
export function useResource<T>(
  load: () => Promise<T>,
  inputs: readonly unknown[],
  everyMs?: number,
): Resource<T> {
  const [state, setState] = useState<{ key: string; value?: T; error?: unknown }>({ key: "" });
  const key = JSON.stringify(inputs);
  const latest = useRef({ key, load });
  latest.current = { key, load };

  const reload = useCallback(async () => {
    const asked = latest.current;
    try {
      const value = await asked.load();
      if (latest.current.key === asked.key) setState({ key: asked.key, value });
    } catch (error) {
      if (latest.current.key !== asked.key) return;
      setState((before) => (before.key === asked.key ? { ...before, error } : { key, error }));
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
