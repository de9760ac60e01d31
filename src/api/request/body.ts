import { ApiError } from "../../errors.ts";
import { parseLarge, parseToShow } from "../../json/parse-exact.ts";
import { BODY_BYTES_MAX, BODY_SECONDS_MAX } from "../../settings/limits.ts";
import { BODY_BYTES_PER_REQUEST } from "../limits.ts";
import { expectJsonShape } from "./json-shape.ts";

/**
 * Maximum size, in bytes, of a body that the server reads to its end although it is too large. Many
 * clients read the response 413 only after they have sent the body.
 */
const BODY_DISCARDED_BYTES_MAX = 64 << 20;

/** Media type of HTML forms. Requests of OAuth and OpenID Connect have it. */
export const FORM_TYPE = "application/x-www-form-urlencoded";

interface BodyOptions {
  /** Whether the body must be a form instead of JSON. */
  isForm?: boolean;
  secondsMax?: number;
  bytesMax?: number;
  /** Called with the number of bytes read, after the whole body was read or reading it failed. */
  onRead?(bytes: number): void;
  /**
   * Called once if the body is longer than `BODY_BYTES_PER_REQUEST`. The rest of the body is read
   * after the promise resolves, within another `secondsMax` seconds. `signal` aborts if the promise
   * is still pending `secondsMax` seconds after the server began to read.
   */
  admitLong?(signal: AbortSignal): Promise<void>;
}

/**
 * Reads a request's body. Rejects if the body is compressed, too large, too late or incomplete, or
 * if a Content-Type header names a type other than JSON (with `isForm`, other than a form).
 */
export async function readBody(request: Request, options: BodyOptions = {}): Promise<Buffer> {
  if (request.body === null) return Buffer.alloc(0);
  expectHeaders(request.headers, options);
  return await readBytes(request.body, options);
}

function expectHeaders(
  headers: Headers,
  { bytesMax = BODY_BYTES_MAX, isForm = false }: BodyOptions,
): void {
  const expected = isForm ? FORM_TYPE : "application/json";
  const [sent = ""] = (headers.get("content-type") ?? expected).split(";");
  const type = sent.trim().toLowerCase();
  if (type !== expected && (isForm || !/^application\/.+\+json$/.test(type))) {
    throw new ApiError("invalid", `Expected Content-Type ${expected}, got another type`);
  }
  if (Number(headers.get("content-length")) > BODY_DISCARDED_BYTES_MAX) {
    throw tooLarge(bytesMax);
  }
  const encoding = headers.get("content-encoding") ?? "identity";
  if (encoding.toLowerCase() !== "identity") {
    throw new ApiError("invalid", "Expected a body without Content-Encoding, got an encoded one");
  }
}

async function readBytes(
  body: ReadableStream<Uint8Array>,
  { secondsMax = BODY_SECONDS_MAX, bytesMax = BODY_BYTES_MAX, onRead, admitLong }: BodyOptions,
): Promise<Buffer> {
  const reader = body.getReader();
  const late = new AbortController();
  const timer = setTimeout(() => {
    late.abort();
    reader.cancel().catch(() => {});
  }, secondsMax * 1_000);
  const chunks: Uint8Array[] = [];
  let size = 0;
  let isAdmitted = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      size += value.length;
      if (size > BODY_DISCARDED_BYTES_MAX) throw tooLarge(bytesMax);
      // Most clients read no answer while they send. If the server closed the connection now,
      // the client would see a reset instead of the 413. So the rest of the body is read and
      // discarded.
      if (size > bytesMax) chunks.length = 0;
      else chunks.push(value);
      if (size <= BODY_BYTES_PER_REQUEST || isAdmitted) continue;
      isAdmitted = true;
      await admitLong?.(late.signal);
      // The time in which the body waited for its turn does not count against the client.
      timer.refresh();
    }
  } catch (error) {
    if (error instanceof ApiError) throw error;
    if (late.signal.aborted) throw tooLate(secondsMax);
    throw new ApiError("invalid", "Expected a complete body, got one that ended early");
  } finally {
    clearTimeout(timer);
    onRead?.(size);
  }
  if (size > bytesMax) throw tooLarge(bytesMax);
  if (late.signal.aborted) throw tooLate(secondsMax);
  return Buffer.concat(chunks, size);
}

function tooLate(secondsMax: number): ApiError {
  return new ApiError("invalid", `Expected the whole body within ${secondsMax} s`);
}

function tooLarge(bytesMax: number): ApiError {
  return new ApiError("too-large", `Expected a body of at most ${bytesMax} bytes, got more`);
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Returns the fields of a form. If a field is repeated, its last value counts. */
export function parseForm(bytes: Uint8Array): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(Buffer.from(bytes).toString("utf8")));
}

/**
 * Parses a body as JSON; an empty body counts as `{}`. For an integer that a JavaScript number
 * would round, throws if `keepsDigits` is false. If `keepsDigits` is true, the integer keeps its
 * digits (see `parseToShow`).
 */
export function parseJson(bytes: Buffer, keepsDigits = false): unknown {
  if (bytes.length === 0) return {};
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw new ApiError("invalid", "Expected a body in UTF-8, got other bytes");
  }
  expectJsonShape(text);
  try {
    return keepsDigits ? parseToShow(text) : parseLarge(text, expectExact);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw new ApiError("invalid", "Expected a body in JSON, got text that does not parse");
  }
}

function expectExact(digits: string): number {
  const value = Number(digits);
  if (String(value) === digits) return value;
  throw new ApiError(
    "invalid",
    "Expected integers beyond 2^53 as strings, got one as a number, which would be rounded",
  );
}
