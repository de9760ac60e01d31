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

/** One thing that is wrong with a request: where (a JSON pointer), and what. */
export interface Detail {
  path: string;
  message: string;
  line?: number;
  column?: number;
}

/**
 * A request that the service refuses, with a sentence for the caller. The error never holds the
 * caller's input, a file path or a stack, since listeners send `message` and `details` as they are.
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

/** A setting or an environment with which the server cannot start; printed as one sentence. */
export class StartError extends Error {
  override readonly name = "StartError";
}

/** The error for a listener that does not start, mostly because its port is taken. */
export function listenError(address: { host: string; port: number }, cause: unknown): StartError {
  const { host, port } = address;
  const reason = isUnknownHost(cause)
    ? "expected an address of this machine, or a name that it can look up"
    : systemReason(cause);
  return new StartError(`Cannot listen on ${host} port ${port}: ${reason}`);
}

/** Bun tells a name that it cannot look up in three ways, one of them without a code. */
function isUnknownHost(cause: unknown): boolean {
  const { code, message } = (cause ?? {}) as { code?: string; message?: string };
  if (code === undefined) return message?.startsWith("Failed to listen at") === true;
  return ["ENOENT", "ENOTFOUND", "EAI_AGAIN", "EADDRNOTAVAIL"].includes(code);
}

/** The system's own words for an error code: Bun says only that it failed to listen. */
export function systemReason(cause: unknown): string {
  const code = (cause as { code?: unknown } | null)?.code;
  const known = [...getSystemErrorMap().values()].find(([name]) => name === code);
  return known ? `${known[1]} (${known[0]})` : messageOf(cause);
}

/** The code of an error of the system or of a library, such as `ENOENT`; empty when it has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** The message of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Describes what came by its kind and size alone: the caller's text is never repeated. */
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
