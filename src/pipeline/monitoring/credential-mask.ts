import type { LiveProgram } from "../../catalog/live.ts";
import { encoded, printedForms } from "../../destinations/answers/secret-mask.ts";
import { MASK } from "../../destinations/masked-url.ts";
import { remembered } from "../../remembered.ts";
import { GUEST_LOG_CHARS_MAX } from "../../settings/limits.ts";

type Credentials = LiveProgram["credentials"];

/**
 * Minimum length in characters of a credential that is masked; shorter ones would occur in many
 * texts by chance. The search compares hashes of this many characters.
 */
const START_CHARS = 4;
/**
 * Limits the search for credentials to this number times (text length + `CHARS_MORE`) compared
 * characters. Beyond the limit, the rest of the text is masked. Without it, credentials with equal
 * beginnings could block the server for seconds.
 */
const COMPARED_PER_CHAR = 16;
const CHARS_MORE = 256;
const HASH_FACTOR = 0x01000193;

const masks = new WeakMap<Credentials, CredentialMask>();

/** Returns the object that masks `credentials` in the log lines and errors of user code. */
export function credentialMask(credentials: Credentials): CredentialMask {
  return masks.getOrInsertComputed(credentials, (it) => new CredentialMask(it));
}

/**
 * Replaces a workspace's credentials in text that its user code printed: as they are, or encoded
 * for JSON, URLs or base64. Unlike `SecretMask`, replaces only whole credentials, because a part
 * such as `https://` is frequent in printed text.
 */
class CredentialMask {
  /**
   * Hash of the first `START_CHARS` characters → credentials, plain or encoded, that begin with
   * these characters; the longest first.
   */
  readonly #forms = new Map<number, string[]>();

  /**
   * Returns an error message with the credentials masked. The message may have been cut off within
   * a credential. If it ends with the beginning of a credential, this is masked too.
   */
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
   * Masks the credentials in a text. If `isCut` is true, the text may have been cut off, and the
   * beginning of a credential at its end is masked too. Beyond the limit `COMPARED_PER_CHAR`, masks
   * all text not searched yet.
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
