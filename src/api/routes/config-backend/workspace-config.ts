import { Type } from "@sinclair/typebox";
import type { Principal } from "../../../catalog/model.ts";
import { ApiError } from "../../../errors.ts";
import { text } from "../../../settings/schema-types.ts";
import { exampleConfig, ServerConfig } from "../../config-backend/schema.ts";
import type { ConfigBody } from "../../config-backend/workspace-configs.ts";
import type { RouteDeps } from "../../deps.ts";
import { parseTags } from "../../request/preconditions.ts";
import { invalidValue } from "../../request/validation.ts";
import { responseHeaders } from "../../response/errors.ts";
import { takesGzip } from "../../response/gzip.ts";
import { route } from "../../route.ts";
import { isOperators } from "../alerts/alert-facts.ts";

/**
 * This file defines the routes by which a rudder-server reads its configuration, with secrets in
 * clear. Their paths and shapes are those of RudderStack's configuration backend.
 */

const region = Type.Optional(text("Of RudderStack's cloud; has no effect"));

export const workspaceConfigRoutes = [
  route("GET /workspaceConfig", {
    summary: "Get the configuration of the workspace for its rudder-server",
    needs: ["workspace-config:read"],
    answersTag: true,
    query: {
      fetchAll: Type.Optional(text("Sent by rudder-server; has no effect")),
      region,
    },
    answer: ServerConfig,
    example: { answer: exampleConfig },
    async handle({ deps, principal, workspaceId, request }) {
      expectServiceToken(principal, request);
      return configResponse(request, await deps.workspaceConfigs.of(workspaceId));
    },
  }),

  route("GET /data-plane/v1/namespaces/{namespace}/config", {
    summary: "Get the configurations of several workspaces for their rudder-servers",
    needs: ["workspace-config:read"],
    answersTag: true,
    query: {
      updatedAfter: Type.Optional(
        Type.String({
          maxLength: 40,
          description: "Time; workspaces that have not changed since then are null",
        }),
      ),
      region,
    },
    answer: Type.Record(Type.String(), Type.Union([ServerConfig, Type.Null()]), {
      description:
        "By the id of the workspace: that of the token, or all, in the namespace of the setting `rudderstack.namespace`, for a token of the first workspace",
    }),
    example: {
      params: { namespace: "main" },
      answer: { [exampleConfig.workspaceId]: exampleConfig },
    },
    async handle({ deps, principal, workspaceId, params, query, request }) {
      expectServiceToken(principal, request);
      const ids = workspacesOf(deps, workspaceId, params.namespace);
      const config = await deps.workspaceConfigs.ofAll(ids, timeOf(query.updatedAfter));
      return configResponse(request, config);
    },
  }),
] as const;

function workspacesOf(deps: RouteDeps, workspaceId: string, namespace: string): string[] {
  if (deps.namespace !== namespace || !readsAllWorkspaces(deps, workspaceId)) return [workspaceId];
  return deps.catalog.workspaces.list().map(({ id }) => id);
}

function timeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const time = Date.parse(text);
  if (!Number.isNaN(time)) return time;
  const message = "Expected a time such as 2026-02-16T01:11:11.586Z, got another text";
  throw invalidValue("?updatedAfter", message);
}

/** Responds with a configuration, compressed if possible; with 304 if the client already has it. */
function configResponse({ headers }: Request, config: ConfigBody): Response {
  const { json, tag } = config;
  const sent = headers.get("if-none-match");
  const isKnown = sent !== null && (parseTags(sent) ?? []).some((it) => it.tag === tag);
  const all = {
    "Content-Type": "application/json",
    ...responseHeaders,
    Vary: "Accept-Encoding",
    // The tag is weak, because the bodies of two nodes differ although the configuration is the
    // same: each contains the time at which its node noticed the last change.
    ETag: `W/"${tag}"`,
  };
  if (isKnown) return new Response(null, { status: 304, headers: all });
  // rudder-server accepts gzip, and decompresses it.
  const compressed = takesGzip(headers) ? config.compressed() : undefined;
  if (compressed === undefined) return new Response(json, { headers: all });
  return new Response(compressed, { headers: { ...all, "Content-Encoding": "gzip" } });
}

/**
 * Throws unless the request has a service token. Called by routes that answer with secrets, which
 * must not reach a person: the token of a member and a console session are refused.
 */
export function expectServiceToken({ memberId }: Principal, { headers }: Request): void {
  if (memberId === undefined && headers.has("authorization")) return;
  throw new ApiError("forbidden", "Expected a service token, got that of a member or a session");
}

/**
 * Whether a token of this workspace lets rudder-server and rudder-transformer read the
 * configurations and the user code of all workspaces. True only if this is the oldest workspace and
 * the setting `rudderstack.namespace` is set.
 */
export function readsAllWorkspaces(
  deps: Pick<RouteDeps, "catalog" | "namespace">,
  workspaceId: string,
): boolean {
  return deps.namespace !== undefined && isOperators(deps, workspaceId);
}
