import type { LiveProgram } from "../../catalog/live.ts";
import { encoded, printedForms } from "../../destinations/answers/secret-mask.ts";
import { MASK } from "../../destinations/masked-url.ts";
import { remembered } from "../../remembered.ts";
import { GUEST_LOG_CHARS_MAX } from "../../settings/limits.ts";

type Credentials = LiveProgram["credentials"];

/**
 * Minimum number of characters of a credential that is masked. Shorter ones would occur in too many
 * texts by chance. Forms are found by as many of their first characters.
 */
const START_CHARS = 4;
/**
 * Maximum number of characters that the search compares per character of a text, and how many
 * characters more every text counts. Without a limit, many credentials that begin alike would cost
 * the server seconds.
 */
const COMPARED_PER_CHAR = 16;
const CHARS_MORE = 256;
const HASH_FACTOR = 0x01000193;

const masks = new WeakMap<Credentials, CredentialMask>();

/** Returns the mask of the credentials that user code had when it ran. */
export function credentialMask(credentials: Credentials): CredentialMask {
  return masks.getOrInsertComputed(credentials, (it) => new CredentialMask(it));
}

/**
 * Masks a workspace's credentials in what its user code has printed: as they are, and as in JSON,
 * URLs and base64. They are masked because some API tokens may read log lines and dead letters but
 * not credentials. Unlike `SecretMask`, masks only whole credentials, because code prints much that
 * resembles a part of one, such as `https://`.
 */
class CredentialMask {
  /** Forms of the credentials by the hash of their first characters, the longest first. */
  readonly #forms = new Map<number, string[]>();

  /** Returns the message of an error with credentials masked. Its end may have been cut. */
  readonly error = remembered(1, (message: string) => this.#masked(message, true));

  constructor(credentials: Credentials) {
    const secrets = Object.values(credentials)
      .filter((credential) => credential.length >= START_CHARS)
      .map((credential) => credential.slice(0, GUEST_LOG_CHARS_MAX));
    const forms = [...encoded(secrets, printedForms)];
    for (const form of forms.sort((one, other) => other.length - one.length)) {
      this.#forms.getOrInsertComputed(hashAt(form, 0), () => []).push(form);
    }
  }

  /** Returns a log line with credentials masked. */
  line(text: string): string {
    return this.#masked(text, text.length >= GUEST_LOG_CHARS_MAX);
  }

  /**
   * Masks the credentials in a text, which may end within one if `isCut` is true. If the search
   * would take too long, masks all that has not been searched.
   */
  #masked(text: string, isCut: boolean): string {
    let comparable = COMPARED_PER_CHAR * (text.length + CHARS_MORE);
    let shown = "";
    let end = 0;
    for (let at = 0; at <= text.length - START_CHARS && end < text.length; at += 1) {
      const rest = text.length - at;
      const found = this.#forms.get(hashAt(text, at))?.find((form) => {
        comparable -= Math.min(form.length, rest);
        if (comparable < 0) return true;
        if (form.length <= rest || !isCut) return text.startsWith(form, at);
        return form.startsWith(text.slice(at));
      });
      if (found === undefined) continue;
      if (at >= end) shown += text.slice(end, at) + MASK;
      end = Math.max(end, at + (comparable < 0 ? rest : found.length));
    }
    return shown + text.slice(end);
  }
}

function hashAt(text: string, start: number): number {
  let hash = 0;
  for (let index = start; index < start + START_CHARS; index++) {
    hash = (Math.imul(hash, HASH_FACTOR) + text.charCodeAt(index)) | 0;
  }
  return hash;
}
