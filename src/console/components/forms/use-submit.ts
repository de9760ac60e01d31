import { useState } from "preact/hooks";

/**
 * Component state for submitting a form. It ignores a submit while an earlier one is pending, and
 * keeps the error until the next submit. `run` performs another action with the form's values, and
 * stores its error in `error` too.
 */
export function useSubmit(send: () => Promise<unknown>) {
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);

  async function run(action: () => Promise<unknown>) {
    setError(undefined);
    await action().catch(setError);
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
