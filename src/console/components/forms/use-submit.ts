import { useEffect, useRef, useState } from "preact/hooks";
import { showError } from "../toasts.ts";

/**
 * Component state for a form that `send` submits. Submits while `send` runs are ignored. `run` runs
 * another action of the form. `error` is the latest error of either. After the form is closed,
 * errors are shown as toasts.
 */
export function useSubmit(send: () => Promise<unknown>) {
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const isShown = useRef(true);
  useEffect(
    () => () => {
      isShown.current = false;
    },
    [],
  );

  async function run(action: () => Promise<unknown>) {
    setError(undefined);
    await action().catch((failure) => (isShown.current ? setError(failure) : showError(failure)));
  }

  async function submit(event: Event) {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    await run(send);
    setBusy(false);
  }

  return { submit, run, busy, error, clearError: () => setError(undefined) };
}
