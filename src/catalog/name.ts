import { ApiError } from "../errors.ts";
import { NAME_CHARS_MAX } from "../settings/limits.ts";

/** What a name is, in words. */
export const nameExpected = `a name of 1 to ${NAME_CHARS_MAX} characters`;

export function isName(text: string): boolean {
  const { length } = text.trim();
  return length >= 1 && length <= NAME_CHARS_MAX;
}

/**
 * A name as it is stored: trimmed, and as UTF-8 gives it back. `invalid` for a text that is no
 * name.
 */
export function parseName(text: string): string {
  if (isName(text)) return text.trim().toWellFormed();
  const message = `Expected ${nameExpected}`;
  throw new ApiError("invalid", message, [{ path: "/name", message }]);
}
