import { useState } from "preact/hooks";

/**
 * State of a form's submission. It ignores a second submit while `send` is pending, and keeps the
 * error of `send` until the next submit.
 */
export function useSubmit(send: () => Promise<unknown>) {
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);

  async function submit(event: Event) {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setError(undefined);
    await send().catch(setError);
    setBusy(false);
  }

  return { submit, busy, error, clearError: () => setError(undefined) };
}
