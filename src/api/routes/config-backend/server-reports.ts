import { Type } from "@sinclair/typebox";
import { ApiError } from "../../../errors.ts";
import { text } from "../../../settings/schema-types.ts";
import { type ResourceCall, route } from "../../route.ts";
import { ids } from "../../schema/examples.ts";

/**
 * This file defines the routes to which rudder-server sends data for RudderStack's cloud, such as
 * its features and live events. They give the answers that rudder-server expects, and ignore the
 * bodies.
 */

const reports = {
  needs: ["workspace-config:read"],
  answer: Type.Undefined(),
  status: 204,
  audit: "none",
} as const;

const suppressions = {
  needs: ["workspace-config:read"],
  query: {
    pageSize: Type.Optional(text("Has no effect")),
    pageToken: Type.Optional(text("Has no effect")),
  },
  answer: Type.Object({ items: Type.Array(Type.Object({})), token: Type.String() }),
} as const;
/**
 * Answer to the request of rudder-server for the users whose events must be suppressed. The list is
 * empty. rudder-server requires the field `token`, and sends its value with its next request.
 */
const noSuppressions = { items: [], token: "none" };

export const serverReportRoutes = [
  route("POST /data-plane/v1/workspaces/{workspace}/settings", {
    ...reports,
    summary: "Take the features of a rudder-server, and drop them",
    example: { params: { workspace: ids.workspace }, answer: undefined },
    handle: expectOwn,
  }),

  route("POST /data-plane/v1/namespaces/{namespace}/settings", {
    ...reports,
    summary: "Take the features of a rudder-server for several workspaces, and drop them",
    example: { params: { namespace: "main" }, answer: undefined },
    handle: () => undefined,
  }),

  route("POST /dataplane/v2/eventUploads", {
    ...reports,
    summary: "Take live events of a rudder-server, and drop them",
    aliases: ["/dataplane/v2/eventDeliveryStatus", "/dataplane/eventTransformStatus"],
    answer: Type.Object({}),
    status: 200,
    example: { answer: {} },
    handle: () => ({}),
  }),

  route("GET /dataplane/workspaces/{workspace}/regulations/suppressions", {
    ...suppressions,
    summary: "List the users whose events a rudder-server drops: none",
    example: { params: { workspace: ids.workspace }, answer: noSuppressions },
    handle(call) {
      expectOwn(call);
      return noSuppressions;
    },
  }),

  route("GET /dataplane/namespaces/{namespace}/regulations/suppressions", {
    ...suppressions,
    summary: "List the users whose events a rudder-server for several workspaces drops: none",
    example: { params: { namespace: "main" }, answer: noSuppressions },
    handle: () => noSuppressions,
  }),
] as const;

type OwnCall = Pick<ResourceCall<"/{workspace}", unknown>, "workspaceId" | "params">;

function expectOwn({ workspaceId, params }: OwnCall): undefined {
  if (params.workspace === workspaceId) return;
  throw new ApiError("missing", "Expected the workspace of the token");
}
