import { docsRoutes } from "./document/docs.ts";
import { guideRoutes } from "./document/guide.ts";
import { openApiDocument } from "./document/openapi.ts";
import type { Route } from "./route.ts";
import { alertRoutes } from "./routes/alerts/alerts.ts";
import { alertReceiverRoutes } from "./routes/alerts/receivers.ts";
import { alertRuleRoutes } from "./routes/alerts/rules.ts";
import { auditRoutes } from "./routes/audit/audit.ts";
import { codeListRoutes } from "./routes/code/code-list.ts";
import { libraryRoutes } from "./routes/code/libraries.ts";
import { publishRoutes } from "./routes/code/publish.ts";
import { runRoutes } from "./routes/code/run.ts";
import { testCaseRoutes } from "./routes/code/test-cases.ts";
import { transformationRoutes } from "./routes/code/transformations.ts";
import { publishedCodeRoutes } from "./routes/config-backend/published-code.ts";
import { serverReportRoutes } from "./routes/config-backend/server-reports.ts";
import { workspaceConfigRoutes } from "./routes/config-backend/workspace-config.ts";
import { codeLogRoutes } from "./routes/events/code-logs.ts";
import { deadLetterRoutes } from "./routes/events/dead-letters.ts";
import { destinationFailureRoutes } from "./routes/events/destination-failure.ts";
import { tailRoutes } from "./routes/events/live-tail.ts";
import { recentRoutes } from "./routes/events/recent.ts";
import { replayRoutes } from "./routes/events/replays.ts";
import { searchRoutes } from "./routes/events/search.ts";
import { searchExportRoutes } from "./routes/events/search-export.ts";
import { connectionRoutes } from "./routes/resources/connections.ts";
import { credentialRoutes } from "./routes/resources/credentials.ts";
import { destinationTestRoutes } from "./routes/resources/destination-tests.ts";
import { destinationTypeRoutes } from "./routes/resources/destination-types.ts";
import { destinationRoutes } from "./routes/resources/destinations.ts";
import { linkRoutes } from "./routes/resources/links.ts";
import { memberRoutes } from "./routes/resources/members.ts";
import { sessionRoutes } from "./routes/resources/sessions.ts";
import { singleSignOnRoutes } from "./routes/resources/single-sign-on.ts";
import { eventStreamSourceRoutes, sourceRoutes } from "./routes/resources/sources.ts";
import { tokenRoutes } from "./routes/resources/tokens.ts";
import { workspaceRoutes } from "./routes/resources/workspace.ts";
import { metricsRoutes } from "./routes/status/metrics.ts";
import { nameRoutes } from "./routes/status/names.ts";
import { overviewRoutes } from "./routes/status/overview.ts";
import { statusListRoutes } from "./routes/status/status-lists.ts";
import { systemRoutes } from "./routes/status/system.ts";

/**
 * All routes of the API. The listener, the OpenAPI document, the API client and the tests use this
 * table.
 */
const table = [
  ...transformationRoutes,
  ...codeListRoutes,
  ...libraryRoutes,
  ...publishRoutes,
  ...runRoutes,
  ...testCaseRoutes,
  ...sourceRoutes,
  ...eventStreamSourceRoutes,
  ...destinationRoutes,
  ...destinationTestRoutes,
  ...destinationTypeRoutes,
  ...linkRoutes,
  ...connectionRoutes,
  ...deadLetterRoutes,
  ...replayRoutes,
  ...overviewRoutes,
  ...metricsRoutes,
  ...destinationFailureRoutes,
  ...alertRoutes,
  ...alertRuleRoutes,
  ...alertReceiverRoutes,
  ...statusListRoutes,
  ...nameRoutes,
  ...tailRoutes,
  ...recentRoutes,
  ...searchRoutes,
  ...searchExportRoutes,
  ...codeLogRoutes,
  ...memberRoutes,
  ...tokenRoutes,
  ...sessionRoutes,
  ...singleSignOnRoutes,
  ...credentialRoutes,
  ...auditRoutes,
  ...workspaceRoutes,
  ...workspaceConfigRoutes,
  ...publishedCodeRoutes,
  ...serverReportRoutes,
  ...systemRoutes,
] as const;

/** Type of the route table. The typed API client gets the types of requests and answers from it. */
export type RouteTable = typeof table;
export const routes: readonly Route[] = [
  ...table,
  ...docsRoutes((deps) => openApiDocument(routes, deps)),
  ...guideRoutes,
];
