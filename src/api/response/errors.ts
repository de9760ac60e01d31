import { assert, InvariantError } from "../../assert.ts";
import { ApiError, type Refusal } from "../../errors.ts";
import type { Logger } from "../../observe/log.ts";
import { SandboxUnavailable } from "../../sandbox/sandbox.ts";
import { type Tagged, tagHeader } from "../entity-tag.ts";
import { TooManyRequests } from "../limiters.ts";

const INTERNAL_ERROR = 500;
const statuses: Record<Refusal, number> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  missing: 404,
  conflict: 409,
  changed: 412,
  "too-large": 413,
  "too-long": 414,
  "too-many": 429,
  unavailable: 503,
};

/** Thrown if a resource's current state does not fulfil the request's If-Match or If-None-Match. */
export class PreconditionFailed extends ApiError {
  constructor(
    message: string,
    /**
     * Further fields of the error response.
     * - `current`: the resource's current state; if a filter finds too many dead letters, an object
     *   with `count`: at least this many match.
     * - `base`: the earlier state whose tag the request sent in If-Match.
     */
    readonly states: { current?: unknown; base?: unknown },
    /** The resource's state and entity tag. Absent if the resource does not exist or has no tag. */
    readonly now?: Tagged<unknown>,
  ) {
    super("changed", message);
  }
}

/** Whether this status is one of the API's error statuses. */
export function isErrorStatus(status: number): boolean {
  return status === INTERNAL_ERROR || Object.values(statuses).includes(status);
}

export const responseHeaders = {
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
} as const;

export function jsonResponse(
  body: unknown,
  status: number,
  headers?: Record<string, string>,
): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { "Content-Type": "application/json", ...responseHeaders, ...headers },
  });
}

/**
 * Makes an error response with the body `{message, details?}`. Under `/v2/` the body also has
 * `error`, which RudderStack's Go client reads.
 */
export function errorResponse(
  path: string,
  status: number,
  message: string,
  more?: { headers?: Record<string, string>; body?: Record<string, unknown> },
): Response {
  const error = path.startsWith("/v2/") ? { error: message } : {};
  return jsonResponse({ message, ...error, ...more?.body }, status, more?.headers);
}

/**
 * Creates the response for an error that a handler threw. Logs an unexpected error, and does not
 * send its text to the client.
 */
export function toErrorResponse(error: unknown, path: string, logger: Logger): Response {
  if (error instanceof ApiError) {
    const status = statuses[error.refusal];
    assert(status !== undefined, "Every refusal has a status");
    return errorResponse(path, status, error.message, {
      headers: errorHeaders(error, path),
      body: {
        ...(error.details && { details: error.details }),
        ...(error instanceof PreconditionFailed && error.states),
      },
    });
  }
  if (error instanceof SandboxUnavailable) {
    return errorResponse(path, 503, "User code cannot run at the moment", { headers: retrySoon });
  }
  const isBug = error instanceof InvariantError;
  logger.error({ err: error }, isBug ? "invariant broken" : "control plane request failed");
  return internalError(path);
}

/**
 * Creates a response that only says that an internal error occurred. The log has the error's text.
 */
export function internalError(path: string): Response {
  return errorResponse(
    path,
    INTERNAL_ERROR,
    "The request failed for a reason of our own; the log has it",
  );
}

/** Headers of a response that asks the client to try again. */
const retrySoon = { "Retry-After": "1" };

function errorHeaders(error: ApiError, path: string): Record<string, string> {
  switch (error.refusal) {
    case "unauthenticated":
      return { "WWW-Authenticate": path.startsWith("/docs") ? docsChallenge : "Bearer" };
    // The rest of the body is unread, so that the connection cannot carry another request.
    case "too-large":
      return { Connection: "close" };
    case "changed":
      return error instanceof PreconditionFailed && error.now ? tagHeader(error.now) : {};
    case "too-many":
      return error instanceof TooManyRequests
        ? { "Retry-After": String(error.retryAfterSeconds) }
        : {};
    case "unavailable":
      return retrySoon;
    default:
      return {};
  }
}

/**
 * WWW-Authenticate header with which a browser asks the user for a token to read `/docs`. It offers
 * only the scheme Basic, because Chromium does not ask if a header offers Basic and Bearer.
 */
const docsChallenge = 'Basic realm="pixelmill: any name, a token as password"';
