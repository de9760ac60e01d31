import { docsRoutes } from "../document/docs.ts";
import { openApiDocument } from "../document/openapi.ts";
import type { Route } from "../route.ts";
import { connectionRoutes } from "./connections.ts";
import { credentialRoutes } from "./credentials.ts";
import { deadLetterRoutes } from "./dead-letters.ts";
import { destinationTypeRoutes } from "./destination-types.ts";
import { destinationRoutes } from "./destinations.ts";
import { libraryRoutes } from "./libraries.ts";
import { linkRoutes } from "./links.ts";
import { tailRoutes } from "./live-tail.ts";
import { memberRoutes } from "./members.ts";
import { overviewRoutes } from "./overview.ts";
import { publishRoutes } from "./publish.ts";
import { replayRoutes } from "./replays.ts";
import { runRoutes } from "./run.ts";
import { searchRoutes } from "./search.ts";
import { sessionRoutes } from "./sessions.ts";
import { sourceRoutes } from "./sources.ts";
import { suspensionRoutes } from "./suspensions.ts";
import { systemRoutes } from "./system.ts";
import { tokenRoutes } from "./tokens.ts";
import { transformationRoutes } from "./transformations.ts";
import { workspaceRoutes } from "./workspace.ts";

/** The route table: the listener, the OpenAPI document, the client and the tests all read it. */
const table = [
  ...transformationRoutes,
  ...libraryRoutes,
  ...publishRoutes,
  ...runRoutes,
  ...sourceRoutes,
  ...destinationRoutes,
  ...destinationTypeRoutes,
  ...linkRoutes,
  ...connectionRoutes,
  ...deadLetterRoutes,
  ...replayRoutes,
  ...suspensionRoutes,
  ...overviewRoutes,
  ...tailRoutes,
  ...searchRoutes,
  ...memberRoutes,
  ...tokenRoutes,
  ...sessionRoutes,
  ...credentialRoutes,
  ...workspaceRoutes,
  ...systemRoutes,
] as const;

/** The table with every row's own types, for the client. */
export type Table = typeof table;
export const routes: readonly Route[] = [
  ...table,
  ...docsRoutes((parts) => openApiDocument(routes, parts)),
];
