import type { EgressResponse } from "../../egress/egress.ts";
import {
  ANSWER_BODY_BYTES_MAX,
  ANSWER_HEADER_CHARS_MAX,
  ANSWER_REASON_CHARS_MAX,
} from "../limits.ts";
import { MASK } from "../masked-url.ts";
import type { SecretMask } from "./secret-mask.ts";

type Mask = Pick<SecretMask, "mask">;

/**
 * The unmasked answer of a receiver to a failed delivery or to a connection test. It may repeat
 * secrets of the request, so it is never stored, logged or shown; `shownAnswer` masks it.
 */
export interface ReceiverAnswer {
  status?: number | undefined;
  /** Error code of a database, a broker or an object store. */
  code?: string | undefined;
  /** HTTP headers by name in lower case. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** HTTP response body, or the error message of a receiver without HTTP. */
  body?: Uint8Array | string | undefined;
  /** Secrets of the request that are not in the destination's config, such as an access token. */
  sent?: readonly string[] | undefined;
}

/**
 * A receiver's answer in a form that may be stored and shown: short, with secrets masked, and
 * without characters that change how other text is displayed.
 */
export interface ShownAnswer {
  status?: number;
  code?: string;
  headers?: Record<string, string>;
  body?: string;
  /** Present if `body` is only the beginning of the receiver's text. */
  isCut?: true;
}

/**
 * Names of the response headers that `ShownAnswer` keeps. They say what was refused and by whom,
 * when to try again, and which id the receiver gave the request.
 */
const shownHeaders = [
  "content-type",
  "server",
  "via",
  "allow",
  "location",
  "retry-after",
  "www-authenticate",
  "x-request-id",
  "request-id",
  "x-correlation-id",
  "x-amzn-requestid",
  "x-amz-request-id",
  "x-amz-bucket-region",
  "x-clickhouse-exception-code",
  "cf-ray",
];

/**
 * Returns an HTTP response as a `ReceiverAnswer`. `sent` are the secrets that the request had and
 * that are not in the config.
 */
export function answerOf(
  { status, headers, body }: EgressResponse,
  sent?: readonly string[],
): ReceiverAnswer {
  return { status, headers, body, ...(sent !== undefined && { sent }) };
}

/** Returns an answer to store and show: cut, masked, and with only the headers `shownHeaders`. */
export function shownAnswer(answer: ReceiverAnswer, mask: Mask): ShownAnswer {
  const { status, code, headers = {}, body = "" } = answer;
  const shown: ShownAnswer = {};
  if (status !== undefined) shown.status = status;
  if (code !== undefined) shown.code = shownText(code, mask, ANSWER_HEADER_CHARS_MAX);
  const kept = shownHeaders.flatMap((name) => {
    const value = headers[name];
    return value ? [[name, shownText(value, mask, ANSWER_HEADER_CHARS_MAX)] as const] : [];
  });
  if (kept.length > 0) shown.headers = Object.fromEntries(kept);
  // Pixelmill does not ask for compression, and does not expand what an attacker compressed.
  const isCompressed = /\S/.test((headers["content-encoding"] ?? "").replace(/^identity$/i, ""));
  if (body.length === 0 || isCompressed) return shown;
  const { text, isCut } = boundedText(body, mask);
  shown.body = text;
  if (isCut) shown.isCut = true;
  return shown;
}

/** Returns a failure's reason with secrets masked. The text of a receiver may repeat secrets. */
export function shownReason(reason: string, mask: Mask): string {
  return shownText(reason, mask, ANSWER_REASON_CHARS_MAX);
}

/**
 * Number of characters after the shown part of a text that are also searched for secrets. So a
 * secret that begins in the shown part and ends after it is masked.
 */
const BEHIND_CHARS = 64;

function shownText(text: string, mask: Mask, charsMax: number): string {
  const searched = text.slice(0, charsMax + BEHIND_CHARS);
  return maskedText(searched, mask, searched.length < text.length).slice(0, charsMax);
}

/**
 * Returns a text with secrets masked. If the text was cut and does not end with a mask, omits its
 * last `BEHIND_CHARS` characters, because they may contain the beginning of a secret, which cannot
 * be recognized. They could be shown if short masks have replaced longer secrets.
 */
function maskedText(text: string, mask: Mask, isCut: boolean): string {
  const masked = harmless(mask.mask(text));
  return isCut && !masked.endsWith(MASK) ? masked.slice(0, -BEHIND_CHARS) : masked;
}

/** Returns the first `ANSWER_BODY_BYTES_MAX` bytes as masked text, and whether it was cut. */
function boundedText(body: Uint8Array | string, mask: Mask) {
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  const searched = bytes.subarray(0, ANSWER_BODY_BYTES_MAX + BEHIND_CHARS);
  // Replaced bytes and masked secrets can be longer or shorter than they were.
  const text = maskedText(new TextDecoder().decode(searched), mask, searched.length < bytes.length);
  const isCut =
    bytes.length > ANSWER_BODY_BYTES_MAX || Buffer.byteLength(text) > ANSWER_BODY_BYTES_MAX;
  if (!isCut) return { text, isCut };
  const cut = Buffer.from(text).subarray(0, ANSWER_BODY_BYTES_MAX).toString();
  // The last character may have been cut in two.
  return { text: cut.replace(/\ufffd$/, ""), isCut };
}

/**
 * Replaces characters that change how other text is displayed: control characters, and characters
 * that change the direction of a line or have no width.
 */
function harmless(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .toWellFormed()
    .replace(/[^\P{Cc}\n\t]|[\p{Bidi_Control}\u200b-\u200d\u2028\u2029\u2060\ufeff]/gu, "\ufffd");
}
