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
];

test.each(traits)("these routes, and no others: a request %s", (_, has, keys) => {
  const found = routes.filter((route) => has(route)).map(({ key }) => key as ClientKey);
  expect(found.sort()).toEqual(keys.sort());
});
