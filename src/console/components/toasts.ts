import { signal } from "@preact/signals";

interface Toast {
  text?: string;
  error?: unknown;
}

export const toasts = signal<readonly Toast[]>([]);
/**
 * Open dialogs, with the topmost one last. The topmost dialog shows the toasts, because elements
 * behind it are inert.
 */
export const openDialogs = signal<readonly object[]>([]);
const TOASTS_MAX = 4;
const SHOWN_MS = 5_000;

// An error tells nothing about the screen that the user opens next.
addEventListener("hashchange", () => {
  toasts.value = toasts.value.filter(({ error }) => error === undefined);
});

/** Shows a short message for five seconds. */
export function showToast(text: string): void {
  const toast = addToast({ text });
  setTimeout(() => dismissToast(toast), SHOWN_MS);
}

/** Shows an error message until the user dismisses it or opens another screen. */
export function showError(error: unknown): void {
  addToast({ error });
}

function addToast(toast: Toast): Toast {
  toasts.value = [...toasts.value, toast].slice(-TOASTS_MAX);
  return toast;
}

export function dismissToast(toast: Toast): void {
  toasts.value = toasts.value.filter((it) => it !== toast);
}
