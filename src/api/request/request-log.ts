import { ApiError } from "../../errors.ts";
import type { Logger } from "../../observe/log.ts";
import type { Route } from "../route.ts";

/** Maximum number of revision ids in the log line of one publish request. */
const VERSION_IDS_LOGGED_MAX = 20;

interface LoggedRequest {
  route: Route;
  workspaceId: string;
  tokenId: string;
  params: Record<string, string | null> | undefined;
}

/**
 * Logs a request that may have changed something, in one line. The line contains ids but no text of
 * the caller. Requests that fail authentication are not logged, because anyone could fill the disk
 * with them.
 */
export function logDone(
  logger: Logger,
  request: LoggedRequest,
  { query, body, answer }: { query: unknown; body: unknown; answer: unknown },
): void {
  if (isUnlogged(request.route)) return;
  const fields = { ...requestFields(request), ...idsOf(query, body, answer) };
  const isRefused = answer instanceof Response && answer.status >= 400;
  logger.info(fields, isRefused ? "request refused" : "request done");
}

export function logRefused(logger: Logger, request: LoggedRequest, error: unknown): void {
  if (isUnlogged(request.route) || !(error instanceof ApiError)) return;
  const { refusal, message } = error;
  logger.info({ ...requestFields(request), refusal, reason: message }, "request refused");
}

function isUnlogged({ method, needs }: Route): boolean {
  return method === "GET" || needs === "open";
}

function requestFields({ route, workspaceId, tokenId, params }: LoggedRequest) {
  return { route: route.key, workspaceId, tokenId, ...params };
}

/** Returns ids and publish state of items that a request created or published, for the log. */
function idsOf(query: unknown, body: unknown, answer: unknown): Record<string, unknown> {
  const { publish } = { ...(query as { publish?: boolean }) };
  const { transformations, libraries } = { ...(body as Record<string, unknown>) };
  const { id, versionId, published, ...made } = { ...(answer as Record<string, unknown>) };
  const wrapped = Object.values(made) as ({ id?: unknown } | null | undefined)[];
  const madeId = id ?? wrapped.find((it) => typeof it?.id === "string")?.id;
  const versionIds = [transformations, libraries]
    .flatMap((items) => (Array.isArray(items) ? items : []))
    .map((item) => (typeof item === "string" ? item : item?.versionId))
    .slice(0, VERSION_IDS_LOGGED_MAX);
  return {
    ...(typeof madeId === "string" && { id: madeId }),
    ...(typeof versionId === "string" && { versionId, published: publish === true }),
    ...(versionIds.length > 0 && { versionIds }),
    ...(typeof published === "boolean" && { published }),
  };
}
