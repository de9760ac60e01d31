import { createHash } from "node:crypto";

/** A test case of a transformation, with the fields of its file in a directory of code. */
export interface CaseContent {
  name: string;
  description?: string;
  input: Record<string, unknown>[];
  expectedOutput?: Record<string, unknown>[];
}

/** A transformation or a library with everything that its folder in a directory of code stores. */
export interface CodeContent {
  kind: "transformation" | "library";
  name: string;
  description: string;
  language: "javascript" | "python";
  code: string;
  /** Test cases, sorted by name. Always empty for a library. */
  tests: CaseContent[];
}

export const extensions = { javascript: "js", python: "py" } as const;

/** Name of the folder that contains the code of each kind. */
export const folders = { transformation: "transformations", library: "libraries" } as const;

/**
 * Returns the first part of the API's paths for a kind of code: `transformations` or `libraries`.
 * TypeScript takes it for `transformations` in both cases. It thus allows only requests and fields
 * that both kinds have.
 */
export const pathOf = (kind: keyof typeof folders) => folders[kind] as "transformations";

/** Sorts test cases by name, then content, so that equal sets become equal lists. */
export function sortedTests(tests: readonly CaseContent[]): CaseContent[] {
  return [...tests].sort(
    (one, other) =>
      compareTexts(one.name, other.name) || compareTexts(caseText(one), caseText(other)),
  );
}

/** Compares strings by UTF-16 units, for sorting that is the same on every machine. */
export function compareTexts(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** Formats a test case as the text of its file. */
export function caseText({ name, description, input, expectedOutput }: CaseContent): string {
  return `${JSON.stringify({ name, description, input, expectedOutput }, null, 2)}\n`;
}

/** Formats the name and description as the content of `transformation.json` or `library.json`. */
export function metadataText({ name, description }: CodeContent): string {
  return `${JSON.stringify({ name, description: description || undefined }, null, 2)}\n`;
}

/** Returns a hash of a transformation's or library's content. Equal contents have equal hashes. */
export function fingerprint(content: CodeContent): string {
  const { kind, language, code, tests } = content;
  const whole = [kind, metadataText(content), language, code, tests.map(caseText)];
  return createHash("sha256").update(JSON.stringify(whole)).digest("hex").slice(0, 32);
}

/**
 * Converts the name of an item on the server to a file name that is not in `taken`. The file name
 * has only letters, digits and hyphens, so that a name such as `../a` cannot leave the folder.
 */
export function fileNameOf(name: string, taken: ReadonlySet<string>): string {
  const words =
    name
      .normalize("NFC")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  const base = [...(words.join("-") || "unnamed")].slice(0, FILE_NAME_CHARS_MAX).join("");
  for (let number = 1; ; number++) {
    const free = number === 1 ? base : `${base}-${number}`;
    if (!taken.has(free)) return free;
  }
}
/** Maximum characters that a file name takes from an item's name. File systems allow 255 bytes. */
const FILE_NAME_CHARS_MAX = 60;
