import { signal } from "@preact/signals";

export interface Toast {
  id: number;
  text?: string;
  error?: unknown;
}

export const toasts = signal<readonly Toast[]>([]);
const MESSAGES_MAX = 4;
const SHOWN_MS = 5_000;
let last = 0;

/** Says in passing what was done. */
export function showToast(text: string): void {
  const id = addToast({ text });
  setTimeout(() => dismissToast(id), SHOWN_MS);
}

/** Shows an error until it is dismissed. */
export function showError(error: unknown): void {
  addToast({ error });
}

function addToast(message: Omit<Toast, "id">): number {
  last += 1;
  toasts.value = [...toasts.value, { id: last, ...message }].slice(-MESSAGES_MAX);
  return last;
}

export function dismissToast(id: number): void {
  toasts.value = toasts.value.filter((message) => message.id !== id);
}
