import { docsRoutes } from "./document/docs.ts";
import { guideRoutes } from "./document/guide.ts";
import { openApiDocument } from "./document/openapi.ts";
import type { Route } from "./route.ts";
import { libraryRoutes } from "./routes/code/libraries.ts";
import { publishRoutes } from "./routes/code/publish.ts";
import { runRoutes } from "./routes/code/run.ts";
import { transformationRoutes } from "./routes/code/transformations.ts";
import { deadLetterRoutes } from "./routes/events/dead-letters.ts";
import { tailRoutes } from "./routes/events/live-tail.ts";
import { replayRoutes } from "./routes/events/replays.ts";
import { searchRoutes } from "./routes/events/search.ts";
import { connectionRoutes } from "./routes/resources/connections.ts";
import { credentialRoutes } from "./routes/resources/credentials.ts";
import { destinationTypeRoutes } from "./routes/resources/destination-types.ts";
import { destinationRoutes } from "./routes/resources/destinations.ts";
import { eventStreamSourceRoutes } from "./routes/resources/event-stream-sources.ts";
import { linkRoutes } from "./routes/resources/links.ts";
import { memberRoutes } from "./routes/resources/members.ts";
import { sessionRoutes } from "./routes/resources/sessions.ts";
import { sourceRoutes } from "./routes/resources/sources.ts";
import { tokenRoutes } from "./routes/resources/tokens.ts";
import { workspaceRoutes } from "./routes/resources/workspace.ts";
import { overviewRoutes } from "./routes/status/overview.ts";
import { suspensionRoutes } from "./routes/status/suspensions.ts";
import { systemRoutes } from "./routes/status/system.ts";

/**
 * All routes of the API. The listener, the OpenAPI document, the client and the tests use this
 * table.
 */
const table = [
  ...transformationRoutes,
  ...libraryRoutes,
  ...publishRoutes,
  ...runRoutes,
  ...sourceRoutes,
  ...eventStreamSourceRoutes,
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

/**
 * Type of the route table, with the literal types of every route. The typed API client is built on
 * it.
 */
export type RouteTable = typeof table;
export const routes: readonly Route[] = [
  ...table,
  ...docsRoutes((deps) => openApiDocument(routes, deps)),
  ...guideRoutes,
];
