import type { StoredLetter } from "../model/dead-letter.ts";

/** The fields of a dead letter that decide to which group it belongs. */
export type GroupedFacts = Pick<StoredLetter, "stage" | "reason" | "status" | "code">;

/** Number of characters of a reason, from its start, that are compared with other reasons. */
const COMPARED_CHARS_MAX = 300;

/**
 * Patterns for the parts of a reason that differ between events with the same failure, in the order
 * in which they are replaced.
 */
const variableParts: readonly RegExp[] = [
  // Quoted values. A single quote within a word is an apostrophe.
  /"[^"]*(?:"|$)|`[^`]*(?:`|$)|“[^”]*(?:”|$)|‘[^’]*(?:’|$)|«[^»]*(?:»|$)/g,
  /(?<![\p{L}\p{N}])'[^']*(?:'(?!\p{L})|$)/gu,
  // Addresses of mail and of hosts with a port.
  /[\w.+-]+@[\w.-]+/g,
  // Words with digits: numbers with their unit, times, UUIDs, hashes, addresses.
  /[\p{L}_-]*\p{N}[\p{L}\p{N}_-]*(?:[.:,+/][\p{L}\p{N}_-]*\p{N}[\p{L}\p{N}_-]*)*%?/gu,
  // Long words with letters in both cases, such as random ids.
  /\b(?=\w*[a-z]\w*[A-Z]\w*[a-z]\w*[A-Z])\w{24,}\b/g,
];

/**
 * Matches the status or error code of an answer in the text of a reason. `reasonTemplate` writes
 * these short numbers as letters, because they tell failures apart and would otherwise become `#`.
 */
const codes = /\b(HTTP|status|status code|answered|responded with|error|code)([ :]+)(\d{1,3})\b/gi;
const digits = "abcdefghij";

/**
 * Text that replaces each part of a reason that differs between events. A list of such parts is
 * replaced as a whole.
 */
const PLACE = "#";
const places =
  /#(?:\s?(?:ms|s|min|h|d|seconds?|minutes?|hours?|days?|bytes?|KB|MB|GB|KiB|MiB)\b)?/g;
const lists = /#(?:\s*[,;:]?\s*#)+/g;

/**
 * Returns a reason with `#` in place of the parts that differ between events: numbers, ids, quoted
 * values and times.
 */
export function reasonTemplate(reason: string): string {
  const bounded = reason.slice(0, COMPARED_CHARS_MAX);
  const kept = bounded.replace(codes, (_, word: string, gap: string, code: string) => {
    return `${word}${gap}${code.replace(/\d/g, (digit) => digits[Number(digit)]!)}`;
  });
  const replaced = variableParts.reduce((text, part) => text.replace(part, PLACE), kept);
  return replaced.replace(places, PLACE).replace(lists, PLACE).trim();
}

/**
 * Returns the name of a dead letter's group: a hash of the letter's stage, status and error code,
 * and of the `reasonTemplate` of its reason.
 */
export function groupNameOf({ stage, reason, status, code }: GroupedFacts): string {
  const facts = [stage, status ?? "", code ?? "", reasonTemplate(reason)];
  return Bun.hash(facts.join("\n")).toString(36);
}
