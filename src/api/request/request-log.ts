import { ApiError } from "../../errors.ts";
import type { Logger } from "../../observe/log.ts";
import type { Route } from "../route.ts";

/** Most revisions that the log line of one publish request names. */
const VERSION_IDS_TOLD = 20;

interface LoggedRequest {
  route: Route;
  workspaceId: string;
  tokenId: string;
  params: Record<string, string | null> | undefined;
}

/**
 * Logs requests that change something, one line each: those that were done apart from those that
 * were refused, with ids and without any text of a caller. A request that is not admitted has no
 * line, or whoever has no token could fill the disk.
 */
export function logDone(
  logger: Logger,
  asked: LoggedRequest,
  { query, body, answer }: { query: unknown; body: unknown; answer: unknown },
): void {
  if (isUnlogged(asked.route)) return;
  const about = { ...requestFields(asked), ...idsOf(query, body, answer) };
  const isRefused = answer instanceof Response && answer.status >= 400;
  logger.info(about, isRefused ? "request refused" : "request done");
}

export function logRefused(logger: Logger, asked: LoggedRequest, error: unknown): void {
  if (isUnlogged(asked.route) || !(error instanceof ApiError)) return;
  const { refusal, message } = error;
  logger.info({ ...requestFields(asked), refusal, reason: message }, "request refused");
}

function isUnlogged({ method, needs }: Route): boolean {
  return method === "GET" || needs === "open";
}

function requestFields({ route, workspaceId, tokenId, params }: LoggedRequest) {
  return { route: route.key, workspaceId, tokenId, ...params };
}

/** The ids of what a request made and published. */
function idsOf(query: unknown, body: unknown, answer: unknown): Record<string, unknown> {
  const { publish } = { ...(query as { publish?: boolean }) };
  const { transformations, libraries } = { ...(body as Record<string, unknown>) };
  const { id, versionId, published, ...made } = { ...(answer as Record<string, unknown>) };
  const wrapped = Object.values(made) as ({ id?: unknown } | null | undefined)[];
  const madeId = id ?? wrapped.find((it) => typeof it?.id === "string")?.id;
  const versionIds = [transformations, libraries]
    .flatMap((items) => (Array.isArray(items) ? items : []))
    .map((item) => (typeof item === "string" ? item : item?.versionId))
    .slice(0, VERSION_IDS_TOLD);
  return {
    ...(typeof madeId === "string" && { id: madeId }),
    ...(typeof versionId === "string" && { versionId, published: publish === true }),
    ...(versionIds.length > 0 && { versionIds }),
    ...(typeof published === "boolean" && { published }),
  };
}
