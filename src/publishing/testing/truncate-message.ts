import { cutText } from "../../errors.ts";
import { GUEST_ERROR_CHARS_MAX } from "../../settings/limits.ts";

/**
 * Cuts a message to `GUEST_ERROR_CHARS_MAX` UTF-16 units. The sandbox limits its own messages, but
 * the message about an import contains a name of any length.
 */
export function truncateMessage(message: string): string {
  return cutText(message, GUEST_ERROR_CHARS_MAX, "…");
}
