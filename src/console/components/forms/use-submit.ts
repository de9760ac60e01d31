import { useState } from "preact/hooks";

/** Runs one `send` at a time when a form is submitted; its error stays until the next one. */
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
