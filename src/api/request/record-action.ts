import { type Caller, runAs } from "../../catalog/audit/caller.ts";
import { newId } from "../../catalog/ids.ts";
import type { Principal } from "../../catalog/model.ts";
import { ApiError } from "../../errors.ts";
import { isObject } from "../../is-object.ts";
import type { RouteDeps } from "../deps.ts";
import type { Route } from "../route.ts";

interface HandledRequest {
  route: Route;
  deps: RouteDeps;
  principal: Principal;
  client(): string;
  params: Record<string, string>;
  body: unknown;
}

/**
 * Runs a route's handler so that audit entries name the request's caller. If the route's `audit`
 * names an action, stores its entry before the handler runs, and the outcome afterwards.
 */
export async function runRecorded<T>(
  request: HandledRequest,
  handle: () => T | Promise<T>,
): Promise<T> {
  const { route, principal } = request;
  const { method, status, audit = "catalog" } = route;
  // A browser that comes back from the OpenID provider begins a session with a GET.
  if (method === "GET" && status !== 303) return await handle();
  const client = request.client();
  const caller: Caller = {
    ...(principal.tokenId !== "" && { tokenId: principal.tokenId }),
    ...(client !== "" && { client }),
    route: route.key,
    requestId: newId(),
  };
  return await runAs(caller, async () =>
    audit === "catalog" || audit === "none"
      ? await handle()
      : await runAction(audit, request, handle),
  );
}

async function runAction<T>(
  action: string,
  { deps, principal, params, body }: HandledRequest,
  handle: () => T | Promise<T>,
): Promise<T> {
  const { audit } = deps.catalog;
  const [type = ""] = action.split(".");
  const parameters = isObject(body) ? body : {};
  const entry = await audit.begin({
    workspaceId: principal.workspaceId,
    action,
    ...(params.id !== undefined && { resource: { type, id: params.id } }),
    concerns: concernedIds(parameters),
    parameters,
  });
  const conclude = (end: Parameters<typeof audit.conclude>[1]) =>
    audit.conclude(entry, end).catch((error: unknown) => {
      // The audit entry stays, with the outcome `unknown`.
      deps.logger.warn({ err: error, entry: entry.id }, "outcome of an action not recorded");
    });
  try {
    const answer = await handle();
    await conclude({ outcome: "done", results: resultsOf(answer) });
    return answer;
  } catch (error) {
    const reason = error instanceof ApiError ? error.message : "Internal error";
    await conclude({ outcome: "failed", reason });
    throw error;
  }
}

/**
 * Returns the ids of the source and the destination in the parameters of an action. The parameters
 * may contain these ids themselves or in a filter.
 */
function concernedIds(parameters: Record<string, unknown>): string[] {
  const filter = isObject(parameters.filter) ? parameters.filter : {};
  const ids = [parameters, filter].flatMap((it) => [it.sourceId, it.destinationId]);
  return ids.filter((id) => typeof id === "string");
}

/** Returns the parts of an answer that the audit entry stores: numbers, and ids of objects. */
function resultsOf(answer: unknown): Record<string, unknown> {
  if (!isObject(answer)) return {};
  const results = Object.entries(answer).flatMap(([name, value]): [string, unknown][] => {
    if (typeof value === "number") return [[name, value]];
    return isObject(value) && typeof value.id === "string" ? [[`${name}.id`, value.id]] : [];
  });
  return Object.fromEntries(results);
}
