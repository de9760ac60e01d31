import type { EgressResponse } from "../../egress/egress.ts";
import { cutText } from "../../errors.ts";
import {
  ANSWER_BODY_BYTES_MAX,
  ANSWER_HEADER_CHARS_MAX,
  ANSWER_REASON_CHARS_MAX,
} from "../limits.ts";
import { MASK } from "../masked-url.ts";
import type { SecretMask } from "./secret-mask.ts";

type Mask = Pick<SecretMask, "mask">;

/**
 * A receiver's answer to a failed delivery or to a connection test. It may repeat secrets of the
 * request, which are not masked yet. It must not be stored, logged or shown: convert it with
 * `shownAnswer` first.
 */
export interface ReceiverAnswer {
  status?: number | undefined;
  /** Error code, if the receiver is a database, a Kafka broker or an object store. */
  code?: string | undefined;
  /** HTTP headers by name in lower case. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** HTTP response body. For a receiver that does not use HTTP, its error message. */
  body?: Uint8Array | string | undefined;
  /**
   * Secrets that the request contained and that are not in the destination's config, such as an
   * access token.
   */
  sent?: readonly string[] | undefined;
}

/**
 * A receiver's answer that may be stored and shown: short, with secrets masked, and without
 * characters that change how other text is displayed.
 */
export interface ShownAnswer {
  status?: number;
  code?: string;
  headers?: Record<string, string>;
  body?: string;
  /** Present if `body` has only the beginning of the receiver's response body. */
  isCut?: true;
}

/**
 * Names of the response headers that are stored and shown. From them the user learns what was
 * refused and by which server, when to try again, and the receiver's id of the request.
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
 * Converts an HTTP response to a `ReceiverAnswer`. `sent` has at least the secrets of the request
 * that are not in the destination's config. The result keeps `sent`, so that these secrets can be
 * masked.
 */
export function answerOf(
  { status, headers, body }: EgressResponse,
  sent?: readonly string[],
): ReceiverAnswer {
  return { status, headers, body, ...(sent !== undefined && { sent }) };
}

/** Converts a receiver's answer to one that may be stored and shown. */
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
  return { ...shown, ...boundedBody(body, mask) };
}

/**
 * Returns the reason of a failure, shortened and with secrets masked. `reason` may quote the
 * receiver, whose text may repeat secrets.
 */
export function shownReason(reason: string, mask: Mask): string {
  return shownText(reason, mask, ANSWER_REASON_CHARS_MAX);
}

/**
 * Number of characters, or of bytes in a body, that are searched for secrets beyond the shown text.
 * They are needed to recognize a secret that begins in the shown text and ends after it.
 */
const BEHIND_CHARS = 64;

function shownText(text: string, mask: Mask, charsMax: number): string {
  const searched = text.slice(0, charsMax + BEHIND_CHARS);
  return cutText(maskedText(searched, mask, searched.length < text.length), charsMax);
}

/**
 * Returns a text with secrets masked. With `isCut`, the text is the beginning of a longer text, and
 * may end within a secret. The last `BEHIND_CHARS` characters are then removed, unless the masked
 * text ends with a mask.
 */
function maskedText(text: string, mask: Mask, isCut: boolean): string {
  const masked = harmless(mask.mask(text));
  return isCut && !masked.endsWith(MASK) ? masked.slice(0, -BEHIND_CHARS) : masked;
}

/**
 * Returns the first `ANSWER_BODY_BYTES_MAX` bytes of a body as text with secrets masked, and
 * whether the body was longer.
 */
function boundedBody(body: Uint8Array | string, mask: Mask): Pick<ShownAnswer, "body" | "isCut"> {
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  const searched = bytes.subarray(0, ANSWER_BODY_BYTES_MAX + BEHIND_CHARS);
  // Replaced bytes and masked secrets can be longer or shorter than they were.
  const text = maskedText(new TextDecoder().decode(searched), mask, searched.length < bytes.length);
  const isCut =
    bytes.length > ANSWER_BODY_BYTES_MAX || Buffer.byteLength(text) > ANSWER_BODY_BYTES_MAX;
  if (!isCut) return { body: text };
  const cut = Buffer.from(text).subarray(0, ANSWER_BODY_BYTES_MAX).toString();
  // The last character may have been cut in two.
  return { body: cut.replace(/\ufffd$/, ""), isCut };
}

/**
 * Puts U+FFFD in place of characters that could garble the display of a text: control characters
 * except newline and tab, and characters that have no width or change the direction of a line.
 */
function harmless(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .toWellFormed()
    .replace(/[^\P{Cc}\n\t]|[\p{Bidi_Control}\u200b-\u200d\u2028\u2029\u2060\ufeff]/gu, "\ufffd");
}
