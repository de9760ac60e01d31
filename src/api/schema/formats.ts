import { FormatRegistry } from "@sinclair/typebox";
import { isName, nameExpected } from "../../catalog/name.ts";
import { isOriginPattern } from "../../catalog/source-settings.ts";
import { CODE_BYTES_MAX } from "../../settings/limits.ts";

/**
 * String formats for rules that JSON Schema has no keyword for, such as a maximum length in bytes.
 * `fits` tests a string. `expected` follows the word `Expected` in error messages.
 */
const formats: Record<string, { expected: string; fits: (text: string) => boolean }> = {
  name: { expected: nameExpected, fits: isName },
  code: {
    expected: `a string of at most ${CODE_BYTES_MAX} bytes in UTF-8`,
    fits: (text) => Buffer.byteLength(text, "utf8") <= CODE_BYTES_MAX,
  },
  "date-time": {
    expected: "a time in ISO 8601 such as 2026-02-16T01:11:11Z",
    fits: (text) =>
      /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/.test(text) &&
      Number.isFinite(Date.parse(text)),
  },
  "source-type": {
    expected:
      "http or the name of a type of RudderStack's, of at most 64 letters, digits, spaces, '.', '_' and '-'",
    fits: (text) => /^[A-Za-z][A-Za-z0-9 ._-]{0,63}$/.test(text),
  },
  origin: {
    expected: "an origin such as https://example.com or https://*.example.com, without a path",
    fits: isOriginPattern,
  },
  email: {
    expected: "an email address",
    fits: (text) => /^[^\s@]+@[^\s@]+$/.test(text),
  },
};

for (const [name, { fits }] of Object.entries(formats)) FormatRegistry.Set(name, fits);

export function expectedFormat(format: string): string | undefined {
  return formats[format]?.expected;
}
