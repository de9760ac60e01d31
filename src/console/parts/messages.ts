import { signal } from "@preact/signals";

export interface Message {
  id: number;
  text?: string;
  error?: unknown;
}

export const messages = signal<readonly Message[]>([]);
const MESSAGES_MAX = 4;
const SHOWN_MS = 5_000;
let last = 0;

/** Says in passing what was done. */
export function tell(text: string): void {
  const id = show({ text });
  setTimeout(() => dismiss(id), SHOWN_MS);
}

/** Shows an error until it is dismissed. */
export function tellError(error: unknown): void {
  show({ error });
}

function show(message: Omit<Message, "id">): number {
  last += 1;
  messages.value = [...messages.value, { id: last, ...message }].slice(-MESSAGES_MAX);
  return last;
}

export function dismiss(id: number): void {
  messages.value = messages.value.filter((message) => message.id !== id);
}
