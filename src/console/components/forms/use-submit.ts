import { useEffect, useRef, useState } from "preact/hooks";
import { showError } from "../toasts.ts";

/**
 * Component state for submitting a form. It ignores a submit while an earlier one is pending, and
 * keeps the error until the next submit. `run` performs another action with the form's values, and
 * stores its error in `error` too. A toast shows the error of a form that was closed meanwhile.
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
