import { getSystemErrorMap } from "node:util";

/** Why a request is refused. HTTP listeners answer each reason with a status of its own. */
export type Refusal =
  | "invalid" // 400
  | "unauthenticated" // 401
  | "forbidden" // 403
  | "missing" // 404
  | "conflict" // 409
  | "changed" // 412
  | "too-large" // 413
  | "too-long" // 414
  | "too-many" // 429
  | "unavailable"; // 503

/** One error in a request: its location (a JSON pointer), and a message. */
export interface Detail {
  path: string;
  message: string;
  line?: number;
  column?: number;
  /** Id of the stored test case that failed. */
  testCase?: string;
  /**
   * Differences between the output of user code and the expected output. Each has a JSON pointer to
   * the place, and the values of both outputs there.
   */
  differences?: readonly { path: string; expected?: string; actual?: string }[];
}

/**
 * Thrown when a request is refused. HTTP listeners send the caller the sentence `message`, and
 * `details`. Neither may contain the caller's input (except a misspelt key), file paths or stacks.
 */
export class ApiError extends Error {
  override readonly name = "ApiError";

  constructor(
    readonly refusal: Refusal,
    message: string,
    readonly details?: readonly Detail[],
  ) {
    super(message);
  }
}

/**
 * Returns the result of `read`. If `read` throws an `ApiError` with the refusal `missing`, returns
 * undefined instead.
 */
export function unlessMissing<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof ApiError && error.refusal === "missing") return undefined;
    throw error;
  }
}

/**
 * Thrown when the server cannot start because of a setting or its environment. The message is one
 * sentence. It is printed without a stack.
 */
export class StartError extends Error {
  override readonly name = "StartError";
}

/**
 * Returns the result of `work`. If `work` throws an error, throws a `StartError` instead. The
 * message of the `StartError` is `failure`, such as `Cannot read FILE`, followed by the reason in
 * the error of `work`.
 */
export function orStartError<T>(failure: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new StartError(`${failure}: ${systemReason(error)}`);
  }
}

/** Returns the error for a listener that cannot listen on `address`, with the reason. */
export function listenError(address: { host: string; port: number }, cause: unknown): StartError {
  const { host, port } = address;
  const reason = isUnknownHost(cause)
    ? "expected an address of this machine, or a name that it can look up"
    : systemReason(cause);
  return new StartError(`Cannot listen on ${host} port ${port}: ${reason}`);
}

/**
 * Whether an error means that a host name cannot be resolved. Bun reports this by several error
 * codes, or by an error without a code.
 */
function isUnknownHost(cause: unknown): boolean {
  const { code, message } = (cause ?? {}) as { code?: string; message?: string };
  if (code === undefined) return message?.startsWith("Failed to listen at") === true;
  return ["ENOENT", "ENOTFOUND", "EAI_AGAIN", "EADDRNOTAVAIL"].includes(code);
}

/**
 * Returns the operating system's description of the error code of `cause`, followed by the code, or
 * the message of `cause` for an unknown code. Bun's own message does not say why a listener failed.
 */
export function systemReason(cause: unknown): string {
  const code = codeOf(cause);
  const known = descriptionOf(code);
  return known === undefined ? messageOf(cause) : `${known} (${code})`;
}

// Each call of `getSystemErrorMap` builds a map of all codes: too slow for each failed attempt.
let descriptions: ReadonlyMap<string, string> | undefined;

/** Returns the operating system's description of an error code; undefined when there is none. */
function descriptionOf(code: string): string | undefined {
  descriptions ??= new Map(getSystemErrorMap().values());
  return descriptions.get(code);
}

/** Maps a TLS error code to the reason why the certificate of the other side is not accepted. */
const certificateFaults: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: "self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "of an unknown authority",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "of an unknown authority",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "of an unknown authority",
  CERT_HAS_EXPIRED: "expired",
  CERT_NOT_YET_VALID: "not valid yet",
  ERR_TLS_CERT_ALTNAME_INVALID: "of another host",
};

/** Maps an error code of TLS that does not concern the certificate to an explanation. */
const tlsFaults: Readonly<Record<string, string>> = {
  ERR_SSL_WRONG_VERSION_NUMBER: "the server does not speak TLS on this port",
};

/**
 * Returns why a certificate is not accepted, such as `expired`. Returns undefined for an error code
 * that does not concern a certificate.
 */
export function certificateFault(code: string): string | undefined {
  const fault = certificateFaults[code];
  return fault ?? (/CERT|SIGN|ALTNAME|ISSUER/.test(code) ? "not valid" : undefined);
}

/**
 * Describes a failed connection by its error code only, because the error's message may contain an
 * internal address. The text begins with `failed` or, for a refused certificate, with `owner`, such
 * as `The server's`.
 */
export function failureText(code: string, failed: string, owner: string): string {
  const fault = certificateFault(code);
  if (fault !== undefined) return `${owner} certificate is not accepted: ${fault} (${code})`;
  const known = tlsFaults[code] ?? descriptionOf(code);
  return known === undefined ? `${failed} (${code})` : `${failed}: ${known} (${code})`;
}

/**
 * Returns the code of an error of the system or of a library, such as `ENOENT`. Returns an empty
 * string if it has none.
 */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/**
 * Returns the message of any thrown value. For a `SuppressedError` (an error, and the error of a
 * clean-up after it), returns the message of the first of these two errors.
 */
export function messageOf(error: unknown): string {
  if (error instanceof SuppressedError) return messageOf(error.suppressed);
  return error instanceof Error ? error.message : String(error);
}

/**
 * Describes a value by its type and size only, because error messages must not repeat the caller's
 * text.
 */
export function describeValue(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return `an array of ${plural(value.length, "item")}`;
  if (typeof value === "string") return `a string of ${plural(value.length, "character")}`;
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/**
 * Cuts a text to at most `charsMax` UTF-16 units, including `end`, which is appended only if the
 * text is cut. Does not split a surrogate pair, because receivers of JSON may refuse half of one.
 */
export function cutText(text: string, charsMax: number, end = ""): string {
  if (text.length <= charsMax) return text;
  const size = charsMax - end.length;
  const last = text.charCodeAt(size - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? size - 1 : size) + end;
}

function plural(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}
