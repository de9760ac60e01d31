import { Type } from "@sinclair/typebox";
import { ApiError } from "../../../errors.ts";
import { component } from "../../../settings/schema-types.ts";
import { type RouteKey, route } from "../../route.ts";
import * as example from "../../schema/examples.ts";

const Workspace = component("Workspace", {
  id: Type.String(),
  name: Type.String(),
  environment: Type.String(),
  status: Type.String(),
  region: Type.String(),
  dataPlaneURL: Type.String(),
});

/**
 * Workspace fields that rudder-cli requires. Their values are constant, because pixelmill is
 * self-hosted and has no regions or environments.
 */
const fixed = { environment: "PRODUCTION", status: "ACTIVE", region: "SELF-HOSTED" } as const;

const workspaceRoute = route("GET /v2/workspace", {
  summary: "Retrieve the token's workspace",
  needs: [],
  answer: Type.Object({ workspace: Workspace }),
  example: {
    answer: {
      workspace: {
        id: example.ids.workspace,
        name: "Default",
        ...fixed,
        dataPlaneURL: "http://127.0.0.1:8080",
      },
    },
  },
  handle({ deps, workspaceId }) {
    const workspace = deps.catalog.workspaces.get(workspaceId);
    if (!workspace) throw new ApiError("missing", "Workspace not found");
    const { id, name } = workspace;
    return { workspace: { id, name, ...fixed, dataPlaneURL: deps.dataPlaneUrl() } };
  },
});

/**
 * Routes for RudderStack products that pixelmill does not have. rudder-cli requests all of them
 * before it applies changes. Therefore, they answer with an empty object instead of an error.
 */
const absentProducts = [
  "GET /v2/catalog/categories",
  "GET /v2/catalog/events",
  "GET /v2/catalog/properties",
  "GET /v2/catalog/custom-types",
  "GET /v2/catalog/tracking-plans",
  "GET /v2/retl-sources",
  "GET /v2/retl-connections",
  "GET /v2/data-graphs",
] as const satisfies RouteKey[];

/**
 * Route that lists accounts at other services, such as a warehouse. RudderStack's clients request
 * it. The list is empty, because pixelmill has no such accounts.
 */
const accountsRoute = route("GET /v2/accounts", {
  summary: "Empty: rudder-cli and the Terraform provider ask for it",
  aliases: ["/accounts"],
  needs: [],
  answer: Type.Object({ data: Type.Array(Type.Object({})), paging: Type.Object({}) }),
  example: { answer: { data: [], paging: {} } },
  handle: () => ({ data: [], paging: {} }),
});

export const workspaceRoutes = [
  workspaceRoute,
  accountsRoute,
  ...absentProducts.map((key) =>
    route(key, {
      summary: "Empty: rudder-cli asks for it",
      needs: [],
      answer: Type.Object({}),
      example: { answer: {} },
      handle: () => ({}),
    }),
  ),
] as const;
