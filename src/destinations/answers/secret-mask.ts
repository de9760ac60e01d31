import { MASK } from "../masked-url.ts";

/**
 * Minimum number of consecutive characters of a secret that are masked even if the rest of the
 * secret is missing, for example because the text was cut.
 */
const RUN_CHARS = 8;
/**
 * Maximum length of a secret that is masked only where it stands as a whole word. Without this
 * rule, the password `1` would mask every digit 1.
 */
const WORD_CHARS_MAX = 3;
/**
 * Maximum number of runs (substrings of `RUN_CHARS` characters) that a `SecretMask` stores for each
 * encoding, to limit memory and time. Each secret has an equal share. If a secret has more runs
 * than its share, only some of them are stored.
 */
const STORED_RUNS_MAX = 65_536;
/**
 * Maximum total length, in characters, of the secrets that are masked in every encoding. The
 * shortest secrets are chosen first. The others are masked only in plain text and in JSON, to bound
 * memory and time.
 */
const ENCODED_CHARS_MAX = 65_536;
/** Factor of the rolling hash of runs: the prime of the 32-bit FNV hash. */
const HASH_FACTOR = 0x01000193;
const OLDEST_FACTOR = powerOf(HASH_FACTOR, RUN_CHARS);

/**
 * Masks secrets in a receiver's text, ignoring case. Finds whole secrets and parts of at least
 * `RUN_CHARS` characters, plain or encoded. If only some runs of a secret are stored (see
 * `STORED_RUNS_MAX`), only longer parts of it are found, and text next to them may be masked too.
 */
export class SecretMask {
  /**
   * Maps the hash of each stored run (`RUN_CHARS` consecutive characters of a secret) to the number
   * of runs skipped before the next stored run. `find` also masks this number of characters before
   * and after the run.
   */
  readonly #runs = new Map<number, number>();
  /** Matches all secrets shorter than `RUN_CHARS`. Undefined if there are none. */
  readonly #short: RegExp | undefined;

  constructor(secrets: Iterable<string>) {
    const all = new Set(secrets);
    const runsMax = STORED_RUNS_MAX / all.size;
    const short = new Set<string>();
    for (const form of encoded(all, formsOf)) {
      if (form.length < RUN_CHARS) short.add(form);
      else this.#addRuns(form, Math.ceil(form.length / runsMax));
    }
    // A secret may begin with another one: the longest match comes first.
    const longest = [...short].filter((it) => it !== "").sort((a, b) => b.length - a.length);
    const patterns = longest.map(patternOf);
    if (patterns.length > 0) this.#short = new RegExp(patterns.join("|"), "giu");
  }

  mask(text: string): string {
    return maskAll(text, [this]);
  }

  /** Returns the ranges of a text that are to be masked: its secrets, and parts of secrets. */
  find(text: string): TextRange[] {
    const found: TextRange[] = [];
    for (const [end, hash] of this.#runs.size === 0 ? [] : runsOf(text)) {
      const gap = this.#runs.get(hash);
      if (gap !== undefined) found.push([end - RUN_CHARS - gap, end + gap]);
    }
    if (this.#short === undefined) return found;
    for (const { index, 0: secret } of text.matchAll(this.#short)) {
      found.push([index, index + secret.length]);
    }
    return found;
  }

  #addRuns(form: string, step: number): void {
    for (let at = 0; at <= form.length - RUN_CHARS; at += step) {
      const hash = hashAt(form, at);
      this.#runs.set(hash, Math.max(this.#runs.get(hash) ?? 0, step - 1));
    }
  }
}

type TextRange = [from: number, to: number];

/**
 * Masks the secrets of all `masks` in a text. Finds all of them before it replaces any: after a
 * short secret was replaced, a longer one that begins with it would not be found.
 */
export function maskAll(text: string, masks: readonly SecretMask[]): string {
  const found = masks.flatMap((mask) => mask.find(text)).sort(([one], [other]) => one - other);
  let shown = "";
  let end = 0;
  for (const [from, to] of found) {
    if (shown === "" || from > end) shown += text.slice(end, Math.max(end, from)) + MASK;
    end = Math.max(end, to);
  }
  return shown + text.slice(end);
}

/**
 * Yields, for each run (substring of `RUN_CHARS` characters) of a text, its end offset and its
 * hash. The hash does not depend on upper and lower case.
 */
function* runsOf(text: string): Generator<[end: number, hash: number]> {
  let hash = 0;
  for (let end = 1; end <= text.length; end++) {
    hash = (Math.imul(hash, HASH_FACTOR) + lowerCode(text, end - 1)) | 0;
    if (end > RUN_CHARS) {
      hash = (hash - Math.imul(lowerCode(text, end - 1 - RUN_CHARS), OLDEST_FACTOR)) | 0;
    }
    if (end >= RUN_CHARS) yield [end, hash];
  }
}

/** Returns the hash that `runsOf` yields for the run that begins at `start`. */
function hashAt(text: string, start: number): number {
  let hash = 0;
  for (let index = start; index < start + RUN_CHARS; index++) {
    hash = (Math.imul(hash, HASH_FACTOR) + lowerCode(text, index)) | 0;
  }
  return hash;
}

function lowerCode(text: string, index: number): number {
  const code = text.charCodeAt(index);
  return code >= 65 && code <= 90 ? code + 32 : code;
}

function powerOf(base: number, exponent: number): number {
  let power = 1;
  for (let done = 0; done < exponent; done++) power = Math.imul(power, base);
  return power;
}

/**
 * Returns the encoded forms of all secrets, without duplicates. The shortest secrets, up to
 * `ENCODED_CHARS_MAX` characters in total, get all forms that `formsOf` returns. Each other secret
 * gets two forms: plain text and JSON.
 */
export function encoded(
  secrets: Iterable<string>,
  formsOf: (secret: string) => string[],
): Set<string> {
  let chars = 0;
  const forms = [...secrets]
    .sort((one, other) => one.length - other.length)
    .flatMap((secret) => {
      chars += secret.length;
      return chars <= ENCODED_CHARS_MAX ? formsOf(secret) : [secret, jsonForm(secret)];
    });
  return new Set(forms);
}

/** Returns a secret as it is written inside a JSON string. */
const jsonForm = (secret: string) => JSON.stringify(secret).slice(1, -1);

/** Returns a secret as it is, and as programs encode it in JSON, URLs and base64. */
export function printedForms(secret: string): string[] {
  const form = new URLSearchParams({ "": secret }).toString().slice(1);
  return [
    secret,
    jsonForm(secret),
    form,
    form.replaceAll("+", "%20"),
    encodeURIComponent(secret.toWellFormed()),
    ...base64FormsOf(secret),
  ];
}

/**
 * Returns a secret in all forms that are masked: as it is, and as receivers encode it in JSON,
 * URLs, HTML and base64.
 */
function formsOf(secret: string): string[] {
  const json = jsonForm(secret);
  const withSlashes = json.replaceAll("/", "\\/");
  return [
    ...printedForms(secret),
    withSlashes,
    // Go escapes the characters of HTML, Python and PHP those beyond ASCII.
    escaped(json, /[<>&]/g),
    escaped(json, /[^ -~]/g),
    escaped(withSlashes, /[^ -~]/g),
    Bun.escapeHTML(secret),
  ];
}

/** Returns a JSON string with `\uXXXX` in place of each UTF-16 unit that `units` matches. */
const escaped = (json: string, units: RegExp) =>
  json.replace(units, (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, "0")}`);

/**
 * Returns the base64 forms of a secret, one for each position in a group of 3 bytes and each base64
 * alphabet. Base64 of a longer text with the secret contains one of them. Empty if the secret is
 * shorter than `RUN_CHARS`.
 */
function base64FormsOf(secret: string): string[] {
  if (secret.length < RUN_CHARS) return [];
  return ["", "x", "xx"].flatMap((before) => {
    const first = Math.ceil((before.length * 8) / 6);
    const bytes = Buffer.from(before + secret);
    const text = bytes.toString("base64url").slice(first, Math.floor((bytes.length * 8) / 6));
    return [text, text.replaceAll("-", "+").replaceAll("_", "/")];
  });
}

function patternOf(secret: string): string {
  const text = RegExp.escape(secret);
  return secret.length > WORD_CHARS_MAX ? text : `(?<![\\p{L}\\p{N}])${text}(?![\\p{L}\\p{N}])`;
}
