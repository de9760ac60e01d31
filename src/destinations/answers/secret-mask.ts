import { MASK } from "../masked-url.ts";

/**
 * Number of neighbouring characters that are masked when a secret contains them too. A part of a
 * secret is found as well as the whole, for example at the end of a text that was cut.
 */
const RUN_CHARS = 8;
/**
 * Length of a secret up to which it is masked only as a whole word: the password `1` must not mask
 * every digit 1.
 */
const WORD_CHARS_MAX = 3;
/** Factor of the rolling hash: an odd number, so that every character affects the hash. */
const HASH_FACTOR = 0x01000193;
const OLDEST_FACTOR = powerOf(HASH_FACTOR, RUN_CHARS);

/**
 * Hides secrets in texts of a receiver, which may repeat what it was sent. Finds the whole secret
 * and parts of at least `RUN_CHARS` characters, in any case, as they are and in the encodings in
 * which receivers repeat them.
 */
export class SecretMask {
  /** Hashes of all runs of `RUN_CHARS` characters of the secrets. */
  readonly #runs = new Set<number>();
  /** Secrets that are shorter than a run. */
  readonly #short: RegExp | undefined;

  constructor(secrets: Iterable<string>) {
    const short = new Set<string>();
    for (const secret of secrets) {
      for (const form of formsOf(secret)) {
        if (form.length < RUN_CHARS) short.add(form);
        else for (const [, hash] of runsOf(form)) this.#runs.add(hash);
      }
    }
    const patterns = [...short].filter((it) => it !== "").map(patternOf);
    if (patterns.length > 0) this.#short = new RegExp(patterns.join("|"), "giu");
  }

  mask(text: string): string {
    const masked = this.#runs.size === 0 ? text : this.#maskRuns(text);
    return this.#short === undefined ? masked : masked.replace(this.#short, MASK);
  }

  #maskRuns(text: string): string {
    let result = "";
    /** End of the text that `result` covers; `from` and `to` are the next range to mask. */
    let copied = 0;
    let from = -1;
    let to = -1;
    for (const [end, hash] of runsOf(text)) {
      if (!this.#runs.has(hash)) continue;
      const start = end - RUN_CHARS;
      if (from >= 0 && start > to) {
        result += text.slice(copied, from) + MASK;
        copied = to;
        from = start;
      }
      if (from < 0) from = start;
      to = end;
    }
    return from < 0 ? text : `${result}${text.slice(copied, from)}${MASK}${text.slice(to)}`;
  }
}

/**
 * Returns the ends of all runs of `RUN_CHARS` characters in a text, each with the run's hash. Case
 * does not count.
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

function lowerCode(text: string, index: number): number {
  const code = text.charCodeAt(index);
  return code >= 65 && code <= 90 ? code + 32 : code;
}

function powerOf(base: number, exponent: number): number {
  let power = 1;
  for (let done = 0; done < exponent; done++) power = Math.imul(power, base);
  return power;
}

/** Returns a secret as it is, and as receivers repeat it in JSON, URLs, HTML and base64. */
function formsOf(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  const form = new URLSearchParams({ "": secret }).toString().slice(1);
  return [
    secret,
    json,
    json.replaceAll("/", "\\/"),
    form,
    form.replaceAll("+", "%20"),
    Bun.escapeHTML(secret),
    ...base64FormsOf(secret),
  ];
}

/**
 * Returns the characters of base64 that a secret decides, for each of the three places that it can
 * have in a longer text, such as after a user name in `user:password`.
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
