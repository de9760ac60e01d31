import { ApiError } from "../errors.ts";
import { NAME_CHARS_MAX } from "../settings/limits.ts";

/** Description of a valid name, for error messages. */
export const nameExpected = `a name of 1 to ${NAME_CHARS_MAX} characters`;

export function isName(text: string): boolean {
  const { length } = text.trim();
  return length >= 1 && length <= NAME_CHARS_MAX;
}

/**
 * Returns a name as it is stored: trimmed, and well-formed Unicode. Throws `ApiError` with
 * `invalid` for an empty or too long name.
 */
export function parseName(text: string): string {
  if (isName(text)) return text.trim().toWellFormed();
  const message = `Expected ${nameExpected}`;
  throw new ApiError("invalid", message, [{ path: "/name", message }]);
}
