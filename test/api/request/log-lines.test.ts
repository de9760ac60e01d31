import { expect, test } from "bun:test";
import { logDone, logRefused } from "../../../src/api/request/request-log.ts";
import type { Route } from "../../../src/api/route.ts";
import { ApiError } from "../../../src/errors.ts";
import type { Logger } from "../../../src/observe/log.ts";

/** The lines that are logged, each with its fields. */
function logOf(route: Partial<Route> = {}) {
  const lines: unknown[] = [];
  const logger = { info: (fields: object, line: string) => lines.push([line, fields]) };
  const request = {
    route: { method: "POST", key: "POST /things", needs: [], ...route } as unknown as Route,
    ...{ workspaceId: "w", tokenId: "t", params: { id: "p" } },
  };
  return { lines, logger: logger as unknown as Logger, request };
}
const common = { route: "POST /things", workspaceId: "w", tokenId: "t" };

const ids = Array.from({ length: 21 }, (_, n) => `v${n}`);
const table: [told: { query?: object; body?: unknown; answer?: unknown }, fields: object][] = [
  [{}, {}],
  [{ answer: { id: "a", name: "secret" } }, { id: "a" }],
  [{ answer: { source: { id: "s", name: "secret" } } }, { id: "s" }],
  [{ answer: { none: null, count: 1, text: "a", replay: { id: "r" } } }, { id: "r" }],
  [{ answer: { id: 5, source: { id: 6 } } }, {}],
  [{ answer: { id: "a", versionId: "v" } }, { id: "a", versionId: "v", published: false }],
  [
    { query: { publish: true }, answer: { id: "a", versionId: "v" } },
    { id: "a", versionId: "v", published: true },
  ],
  [{ answer: { published: false } }, { published: false }],
  [{ body: { transformations: "x", libraries: [] } }, {}],
  [
    { body: { transformations: ["v1", { versionId: "v2" }], libraries: ["l1"] } },
    { versionIds: ["v1", "v2", "l1"] },
  ],
  [{ body: { libraries: ids } }, { versionIds: ids.slice(0, 20) }],
];
test.each(table)("the request %j is logged with %j", (told, fields) => {
  const { lines, logger, request } = logOf();
  logDone(logger, request, { query: {}, body: undefined, answer: undefined, ...told });
  // The id of what was made says more than the id in the path.
  expect(lines).toStrictEqual([["request done", { ...common, id: "p", ...fields }]]);
});

test("a request is logged as refused by its answer or its error, and not for an error of the server", () => {
  for (const [status, line] of [
    [200, "request done"],
    [399, "request done"],
    [400, "request refused"],
  ] as const) {
    const { lines, logger, request } = logOf();
    const answer = new Response(null, { status });
    logDone(logger, request, { query: {}, body: undefined, answer });
    expect(lines).toEqual([[line, { ...common, id: "p" }]]);
  }
  const { lines, logger, request } = logOf();
  logRefused(logger, request, new ApiError("conflict", "It exists"));
  logRefused(logger, request, new Error("secret"));
  const refusal = { refusal: "conflict", reason: "It exists" };
  expect(lines).toEqual([["request refused", { ...common, id: "p", ...refusal }]]);
});

test.each([{ method: "GET" }, { needs: "open" }] as const)(
  "requests with %j are not logged",
  (route) => {
    const { lines, logger, request } = logOf(route);
    logDone(logger, request, { query: {}, body: undefined, answer: {} });
    logRefused(logger, request, new ApiError("conflict", "It exists"));
    expect(lines).toEqual([]);
  },
);
