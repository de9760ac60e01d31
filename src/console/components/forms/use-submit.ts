import { useState } from "preact/hooks";

/** A form's sending: one at a time; what it rejects with is `error` until the next. */
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

  return { submit, busy, error, forgetError: () => setError(undefined) };
}
