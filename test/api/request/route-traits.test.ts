import { expect, test } from "bun:test";
import type { ClientKey } from "../../../src/api/client.ts";
import type { Route } from "../../../src/api/route.ts";
import { routes } from "../../../src/api/route-table.ts";

/** The traits of routes stand here once more, beside the route table. */
const publishing: ClientKey[] = [
  "POST /transformations",
  "POST /transformations/{id}",
  "POST /libraries",
  "POST /libraries/{id}",
  "POST /libraries/publish",
  "POST /transformations/publish",
  "POST /transformations/libraries/test",
];
const runs: ClientKey[] = ["POST /transformations/tests/run", "POST /v2/run"];
const trials: ClientKey[] = [
  "POST /v2/destinations/{id}/test",
  "POST /v2/destinations/test",
  "POST /v2/alerts/receivers/{id}/test",
];

const traits: [trait: string, has: (route: Route) => unknown, keys: ClientKey[]][] = [
  [
    "waits for user code or a receiver",
    ({ isLong }) => isLong,
    [...publishing, ...runs, ...trials],
  ],
  [
    "takes code or events in its body",
    ({ hasLargeBody }) => hasLargeBody,
    [
      ...publishing,
      ...runs,
      "POST /v2/transformations/{id}/test-cases",
      "PUT /v2/transformations/{id}/test-cases/{caseId}",
    ],
  ],
  [
    "answers the resource that it creates",
    ({ creates }) => creates,
    [
      "POST /transformations",
      "POST /libraries",
      "POST /v2/transformations/{id}/test-cases",
      "POST /v2/sources",
      "POST /v2/event-stream-sources",
      "POST /v2/destinations",
      "POST /v2/connections",
      "POST /v2/alerts/rules",
      "POST /v2/alerts/receivers",
      "POST /v2/members",
      "POST /v2/tokens",
      "POST /v2/credentials",
    ],
  ],
  [
    "answers current figures",
    ({ readsNoLedgers }) => readsNoLedgers,
    [
      "GET /v2/suspensions",
      "GET /v2/overview",
      "GET /v2/destinations/{id}/history",
      "GET /v2/metrics",
      "GET /v2/metrics/totals",
      "GET /v2/alerts",
      "GET /v2/status/destinations",
      "GET /v2/status/destinations/{id}",
      "GET /v2/status/sources",
      "GET /v2/status/connections",
      "GET /v2/events/recent",
      "GET /v2/logs",
    ],
  ],
  [
    "changes nothing, though it is a POST",
    ({ audit }) => audit === "none",
    [
      "POST /transformations/libraries/test",
      ...runs,
      ...trials,
      "POST /data-plane/v1/workspaces/{workspace}/settings",
      "POST /data-plane/v1/namespaces/{namespace}/settings",
      "POST /dataplane/v2/eventUploads",
    ],
  ],
  [
    "is judged within its one change of the catalog",
    ({ readsInChange }) => readsInChange,
    [
      "DELETE /transformations/{id}",
      "POST /transformations/{id}/connectToDestination",
      "POST /transformations/{id}/disconnectFromDestination",
      "PUT /transformations/{id}/external-id",
      "DELETE /libraries/{id}",
      "PUT /libraries/{id}/external-id",
      "POST /v2/transformations/{id}/test-cases",
      "PUT /v2/transformations/{id}/test-cases/{caseId}",
      "DELETE /v2/transformations/{id}/test-cases/{caseId}",
      "POST /v2/sources",
      "PUT /v2/sources/{id}",
      "DELETE /v2/sources/{id}",
      "POST /v2/sources/{id}/rotate-write-key",
      "PUT /v2/sources/{id}/external-id",
      "POST /v2/event-stream-sources",
      "PUT /v2/event-stream-sources/{id}",
      "DELETE /v2/event-stream-sources/{id}",
      "PUT /v2/event-stream-sources/{id}/external-id",
      "POST /v2/destinations",
      "PUT /v2/destinations/{id}",
      "DELETE /v2/destinations/{id}",
      "PUT /v2/destinations/{id}/external-id",
      "PUT /v2/destinations/{id}/transformation",
      "DELETE /v2/destinations/{id}/transformation",
      "POST /v2/connections",
      "PUT /v2/connections/{id}",
      "DELETE /v2/connections/{id}",
      "PUT /v2/connections/{id}/external-id",
      "PUT /v2/alerts/rules/{id}",
      "DELETE /v2/alerts/rules/{id}",
      "PUT /v2/alerts/receivers/{id}",
      "DELETE /v2/alerts/receivers/{id}",
      "POST /v2/members",
      "PUT /v2/members/{id}",
      "DELETE /v2/members/{id}",
      "POST /v2/tokens",
      "DELETE /v2/tokens/{id}",
      "POST /v2/credentials",
      "DELETE /v2/credentials/{id}",
    ],
  ],
  [
    "is answered with a tag by its handler",
    ({ answersTag }) => answersTag,
    ["GET /workspaceConfig", "GET /data-plane/v1/namespaces/{namespace}/config"],
  ],
  ["has a form in its body", ({ isForm }) => isForm, ["POST /v2/session/oidc/logout"]],
  [
    "needs no token where the operator opens the code",
    ({ opensWith }) => opensWith === "opensCode",
    [
      "GET /transformation/getByVersionId",
      "GET /transformationLibrary/getByVersionId",
      "GET /rudderstackTransformationLibraries/{name}",
    ],
  ],
  [
    "creates what its answer 201 has",
    ({ status }) => status === 201,
    [
      "POST /v2/transformations/{id}/test-cases",
      "POST /v2/sources",
      "POST /v2/event-stream-sources",
      "POST /v2/destinations",
      "POST /v2/connections",
      "POST /v2/replays",
      "POST /v2/alerts/rules",
      "POST /v2/alerts/receivers",
      "POST /v2/members",
      "POST /v2/tokens",
      "POST /v2/credentials",
      "POST /v2/session",
    ],
  ],
  [
    "is answered 204, without a body",
    ({ status }) => status === 204,
    [
      "DELETE /v2/transformations/{id}/test-cases/{caseId}",
      "DELETE /v2/sources/{id}",
      "DELETE /v2/event-stream-sources/{id}",
      "DELETE /v2/destinations/{id}",
      "DELETE /v2/destinations/{id}/transformation",
      "DELETE /v2/connections/{id}",
      "DELETE /v2/alerts/rules/{id}",
      "DELETE /v2/alerts/receivers/{id}",
      "DELETE /v2/members/{id}",
      "DELETE /v2/tokens/{id}",
      "DELETE /v2/credentials/{id}",
      "DELETE /v2/session",
      "POST /v2/session/oidc/logout",
      "POST /data-plane/v1/workspaces/{workspace}/settings",
      "POST /data-plane/v1/namespaces/{namespace}/settings",
    ],
  ],
  [
    "sends the browser elsewhere",
    ({ status }) => status === 303,
    ["GET /v2/session/oidc", "GET /v2/session/oidc/callback"],
  ],
];

test.each(traits)("these routes, and no others: a request %s", (_, has, keys) => {
  const found = routes.filter((route) => has(route)).map(({ key }) => key as ClientKey);
  expect(found.sort()).toEqual(keys.sort());
});

test("every other route is answered 200", () => {
  const statuses = new Set<number>(routes.map(({ status }) => status));
  expect([...statuses].sort()).toEqual([200, 201, 204, 303]);
});

test("lists and what older clients ask for have a second path", () => {
  const ofLists = ["sources", "destinations", "connections", "members", "tokens", "credentials"];
  const lists = [...ofLists, "alerts/rules", "alerts/receivers"].map((path) => {
    return [`GET /v2/${path}`, [`/${path}`]] as const;
  });
  const others = {
    "POST /libraries/publish": ["/transformations/libraries/publish"],
    "POST /transformations/libraries/test": ["/libraries/test"],
    "GET /v2/destination-types": ["/destination-types"],
    "GET /v2/dead-letters": ["/dead-letters"],
    "GET /v2/dead-letter-groups": ["/dead-letter-groups"],
    "GET /v2/suspensions": ["/suspensions"],
    "GET /v2/accounts": ["/accounts"],
    "POST /dataplane/v2/eventUploads": [
      ...["/dataplane/v2/eventDeliveryStatus", "/dataplane/eventTransformStatus"],
    ],
  };
  const found = routes.filter(({ aliases }) => aliases.length > 0);
  expect(Object.fromEntries(found.map(({ key, aliases }) => [key, [...aliases]]))).toEqual({
    ...Object.fromEntries(lists.map(([key, paths]) => [key, [...paths]])),
    ...others,
  });
});
