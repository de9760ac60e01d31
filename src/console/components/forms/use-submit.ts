import { useEffect, useRef, useState } from "preact/hooks";
import { showError } from "../toasts.ts";

/**
 * Component state for a form that `send` submits. While `send` runs, further submits are ignored.
 * `run` runs another action of the form, such as a test. `error` is the error of the last submit or
 * action. If the user closes the form before a submit or action fails, a toast shows the error.
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
