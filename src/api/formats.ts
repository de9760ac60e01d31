import { FormatRegistry } from "@sinclair/typebox";
import { CODE_BYTES_MAX, DESCRIPTION_CHARS_MAX, NAME_CHARS_MAX } from "../limits.ts";

/**
 * String formats beyond JSON Schema's own: bounds that JSON Schema cannot say (bytes, trimmed
 * length). `expected` completes the sentence "Expected …".
 */
const formats: Record<string, { expected: string; fits: (text: string) => boolean }> = {
  name: {
    expected: `a name of 1 to ${NAME_CHARS_MAX} characters`,
    fits: (text) => withinCharacters(text.trim(), 1, NAME_CHARS_MAX),
  },
  description: {
    expected: `a string of at most ${DESCRIPTION_CHARS_MAX} characters`,
    fits: (text) => withinCharacters(text, 0, DESCRIPTION_CHARS_MAX),
  },
  code: {
    expected: `a string of at most ${CODE_BYTES_MAX} bytes in UTF-8`,
    fits: (text) => Buffer.byteLength(text, "utf8") <= CODE_BYTES_MAX,
  },
  "date-time": {
    expected: "a time in ISO 8601",
    fits: (text) =>
      /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/.test(text) &&
      Number.isFinite(Date.parse(text)),
  },
  email: {
    expected: "an e-mail address",
    fits: (text) => /^[^\s@]+@[^\s@]+$/.test(text),
  },
};

for (const [name, { fits }] of Object.entries(formats)) FormatRegistry.Set(name, fits);

export function expectedFormat(format: string): string | undefined {
  return formats[format]?.expected;
}

/** Characters are code points: an emoji counts once. */
function withinCharacters(text: string, min: number, max: number): boolean {
  // Two code units make at most one character less: the short cut spares counting a huge text.
  if (text.length > 2 * max) return false;
  const count = [...text].length;
  return count >= min && count <= max;
}
