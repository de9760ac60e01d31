import { getSystemErrorMap } from "node:util";

/** Why a request is refused; the listeners map each refusal to one status. */
export type Refusal =
  | "invalid" // 400
  | "unauthenticated" // 401
  | "forbidden" // 403
  | "missing" // 404
  | "conflict" // 409
  | "too-large" // 413
  | "too-long" // 414
  | "too-many" // 429
  | "unavailable"; // 503

/** One error of a request: its location (a JSON pointer), and a message. */
export interface Detail {
  path: string;
  message: string;
  line?: number;
  column?: number;
}

/**
 * A refused request, with a sentence for the caller. The error never contains the caller's input,
 * except a misspelt key, nor a file path or a stack: listeners send `message` and `details` as they are.
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
 * A setting or an environment with which the server cannot start; printed as one sentence without a
 * stack.
 */
export class StartError extends Error {
  override readonly name = "StartError";
}

/** Returns the error for a listener that cannot start, mostly because its port is taken. */
export function listenError(address: { host: string; port: number }, cause: unknown): StartError {
  const { host, port } = address;
  const reason = isUnknownHost(cause)
    ? "expected an address of this machine, or a name that it can look up"
    : systemReason(cause);
  return new StartError(`Cannot listen on ${host} port ${port}: ${reason}`);
}

/** Whether a host name cannot be resolved, which Bun reports in three ways, one without a code. */
function isUnknownHost(cause: unknown): boolean {
  const { code, message } = (cause ?? {}) as { code?: string; message?: string };
  if (code === undefined) return message?.startsWith("Failed to listen at") === true;
  return ["ENOENT", "ENOTFOUND", "EAI_AGAIN", "EADDRNOTAVAIL"].includes(code);
}

/** The system's text for an error code: Bun only says that it failed to listen. */
export function systemReason(cause: unknown): string {
  const code = (cause as { code?: unknown } | null)?.code;
  const known = [...getSystemErrorMap().values()].find(([name]) => name === code);
  return known ? `${known[1]} (${known[0]})` : messageOf(cause);
}

/** The code of an error of the system or of a library, such as `ENOENT`; empty when it has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** The message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Describes a value by its type and size alone: error messages never repeat the caller's text. */
export function describeValue(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return `an array of ${plural(value.length, "item")}`;
  if (typeof value === "string") return `a string of ${plural(value.length, "character")}`;
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function plural(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}
