import { describe, expect, test } from "bun:test";
import { defaultRule } from "../../../src/alerts/rule-kinds.ts";
import { errorStatuses, openApiDocument } from "../../../src/api/document/openapi.ts";
import { routes } from "../../../src/api/route-table.ts";
import * as example from "../../../src/api/schema/examples.ts";
import { destinationKinds } from "../../../src/destinations/destination-kinds.ts";
import { createEgress } from "../../../src/egress/egress.ts";

/** The text of the OpenAPI document, without a server. */

const kinds = destinationKinds({ directory: "unused", egress: createEgress({ allow: [] }) });
const dataPlaneUrl = () => "http://data.test";
const document = JSON.parse(
  JSON.stringify(openApiDocument(routes, { version: "1.2.3", kinds, dataPlaneUrl })),
);

interface Place {
  path: string[];
  value: any;
}

/** Everything in a value, at any depth, with the path to it. */
function* placesIn(value: unknown, path: string[] = []): Generator<Place> {
  yield { path, value };
  if (typeof value !== "object" || value === null) return;
  for (const [key, part] of Object.entries(value)) yield* placesIn(part, [...path, key]);
}

const places = [...placesIn(document)];
const isExample = ({ path }: Place) => path.includes("example");
/** The schemas of the API alone: those of destinations are tested beside their kinds. */
const ofApi = places.filter(
  (it) => it.path[2] !== "DestinationConfig" && !isExample(it) && it.path.at(-2) !== "properties",
);
const operations: { key: string; operation: any }[] = Object.entries(document.paths).flatMap(
  ([path, { servers: _, ...methods }]: [string, any]) =>
    Object.entries(methods).map(([method, operation]) => ({
      key: `${method.toUpperCase()} ${path}`,
      operation,
    })),
);
const operationOf = (key: string) => operations.find((it) => it.key === key)!.operation;

test("the OpenAPI document leaves no name and no text empty, except descriptions in examples", () => {
  const empty = places.filter(({ path, value }) => value === "" || path.at(-1) === "");
  const shown = empty.map(({ path }) => path.join("/"));
  expect(shown.filter((path) => !/\/example\/.*\bdescription$/.test(path))).toEqual([]);
});

describe("the OpenAPI document has the form of OpenAPI 3.1:", () => {
  test("its version, its licence, its addresses and its ways to authenticate", () => {
    const { paths: _, tags: __, components, ...rest } = document;
    expect(rest).toEqual({
      openapi: "3.1.0",
      info: {
        title: "pixelmill",
        version: "1.2.3",
        description: expect.any(String),
        license: { name: "MIT", identifier: "MIT" },
      },
      servers: [{ url: "/" }],
      security: [{ bearer: [] }, { basic: [] }],
    });
    const description = expect.any(String);
    expect(components.securitySchemes).toEqual({
      bearer: { type: "http", scheme: "bearer", description },
      basic: { type: "http", scheme: "basic", description },
      writeKey: { type: "http", scheme: "basic", description },
    });
    for (const { key, operation } of operations) {
      const known = Object.keys(components.securitySchemes);
      const asked = (operation.security ?? []).flatMap(Object.keys);
      expect([key, asked.filter((name: string) => !known.includes(name))]).toEqual([key, []]);
    }
  });

  test("schemas of the types of JSON, whose names are those of components", () => {
    const types = ["string", "integer", "number", "boolean", "array", "object", "null"];
    const odd = places
      .filter((it) => !isExample(it) && it.path[1] !== "securitySchemes")
      .filter(({ path, value }) => {
        if (path.at(-2) === "properties") return false;
        if (path.at(-1) === "$ref") return !/^#\/components\/schemas\/[A-Z]\w+$/.test(value);
        return path.at(-1) === "type" && [value].flat().some((it) => !types.includes(it));
      });
    expect(odd).toEqual([]);
    const named = Object.keys(document.components.schemas);
    expect(named.filter((name) => !/^[A-Z]\w+$/.test(name))).toEqual([]);
  });

  test("parameters in the path, the query or a header, with what must be sent", () => {
    for (const { key, operation } of operations) {
      for (const { name, in: place, required, schema } of operation.parameters ?? []) {
        const isInPath = key.includes(`{${name}}`);
        expect([key, name, place]).toEqual([
          key,
          name,
          isInPath ? "path" : expect.stringMatching(/^(query|header)$/),
        ]);
        if (isInPath) expect([key, name, required]).toEqual([key, name, true]);
        expect([key, name, typeof required, typeof schema]).toEqual([
          ...[key, name, "boolean", "object"],
        ]);
      }
    }
  });

  test("bodies with a media type, and answers with a status and a description", () => {
    for (const { key, operation } of operations) {
      const { requestBody, responses } = operation;
      const answers = Object.entries<any>(responses);
      for (const [status, { description }] of answers) {
        expect([key, status, typeof description]).toEqual([key, status, "string"]);
        expect([key, status]).toEqual([key, expect.stringMatching(/^[2-5]\d\d$/)]);
      }
      const contents = [requestBody, ...Object.values(responses)].map((it: any) => it?.content);
      const media = contents.flatMap((it) => Object.keys(it ?? {}));
      expect([key, media.filter((it) => !/^[a-z]+\/[\w.+-]+$/.test(it))]).toEqual([key, []]);
      if (requestBody !== undefined) {
        expect([key, typeof requestBody.required]).toEqual([key, "boolean"]);
      }
    }
  });

  test("a tag for each operation, by the resource of its path", () => {
    const tags = document.tags.map(({ name }: { name: string }) => name);
    expect(new Set(tags).size).toBe(tags.length);
    const used = operations.flatMap(({ operation }) => operation.tags);
    expect(new Set(used)).toEqual(new Set(tags));
    const table = {
      "GET /v2/sources/{id}": "sources",
      "GET /sources": "sources",
      "GET /transformations/{id}": "transformations",
      "GET /v2/metrics": "metrics",
      ...{ "GET /metrics": "server", "GET /health": "server", "GET /ready": "server" },
      ...{ "GET /docs": "server", "GET /docs/json": "server", "GET /docs/guide/{page}": "server" },
      ...{ "GET /pixel/v1/page": "pixel", "POST /v1/batch": "sdk" },
      "POST /customTransform": "rudder-server",
    };
    for (const [key, tag] of Object.entries(table)) {
      expect([key, operationOf(key).tags]).toEqual([key, [tag]]);
    }
  });
});

test.each([
  ["GET /v2/suspensions", [401, 403, 429, 503]],
  ["GET /v2/sources", [400, 401, 403, 429, 503]],
  ["GET /v2/sources/{id}", [400, 401, 403, 404, 412, 429, 503]],
  ["POST /v2/sources", [400, 401, 403, 404, 409, 413, 429, 503]],
  ["PUT /v2/sources/{id}", [400, 401, 403, 404, 409, 412, 413, 429, 503]],
  ["DELETE /v2/sources/{id}", [400, 401, 403, 404, 409, 412, 429, 503]],
  ["POST /v2/replays/{id}/cancel", [401, 403, 404, 409, 429, 503]],
  ["POST /v2/dead-letters/purge", [400, 401, 403, 404, 409, 412, 413, 429, 503]],
  ["GET /v2/workspace", [401, 403, 404, 429, 503]],
  ["GET /v2/metrics", [400, 401, 403, 404, 429, 503]],
  ["GET /workspaceConfig", [400, 401, 403, 503]],
  ["GET /transformation/getByVersionId", [400, 401, 403, 404, 503]],
  ["GET /health", []],
  ["GET /ready", [503]],
  ["GET /metrics", [403]],
  ["GET /v2/sign-in", []],
  ["POST /v2/session", [400, 401, 403, 413, 429, 503]],
  ["DELETE /v2/session", [403, 503]],
  ["GET /v2/session/oidc", [403, 404, 429]],
  ["GET /v2/session/oidc/callback", [400, 403, 404, 429, 503]],
  ["POST /v2/session/oidc/logout", [400, 403, 404, 413, 429, 503]],
])("%s answers errors with the statuses %j alone", (key, statuses) => {
  const route = routes.find((it) => it.key === key)!;
  expect(errorStatuses(route).sort()).toEqual(statuses);
  const documented = Object.keys(operationOf(key).responses).map(Number);
  expect(documented.filter((status) => status >= 400)).toEqual(statuses);
});

test.each([
  ["GET /v2/sources", /, or not in time; repeat the request$/],
  ["POST /v2/session", /, or not in time$/],
  ["PUT /v2/sources/{id}", /may still take effect; the request can be repeated as it is$/],
  ["DELETE /v2/sources/{id}", /may still take effect; the request can be repeated as it is$/],
  ["POST /v2/sources", /, or not in time\. It may still be created; list before you repeat/],
  ["POST /v2/dead-letters/purge", /may still take effect; read the state before you repeat it$/],
  ["POST /transformations", /^Not possible at the moment\. The request may still take effect/],
])("the answer 503 of %s says whether the request can be repeated", (key, told) => {
  expect(operationOf(key).responses[503].description).toMatch(told);
});

test.each([
  ["GET /health", "Needs no token."],
  ["GET /v2/session", "Needs any token of the workspace."],
  ["GET /v2/sources", "Needs `workspace:admin`."],
  ["GET /sources", "The same as `GET /v2/sources`. Needs `workspace:admin`."],
  ["GET /v2/status/names", "Needs `events:read` or `workspace:admin`."],
  [
    "PUT /v2/destinations/{id}/transformation",
    "Needs `transformations:connect` and `destinations:connect`.",
  ],
  [
    "POST /v2/run",
    "Needs any token of the workspace. Needs `transformations:edit` when it has code. Needs `libraries:edit` when it has libraries.",
  ],
])("the OpenAPI document says of %s: %s", (key, description) => {
  expect(operationOf(key).description).toBe(description);
});

test("a refused publish has the answer of a publish, or that of any error", () => {
  const schemaOf = (key: string) =>
    operationOf(key).responses[400].content["application/json"].schema;
  const refusal = { $ref: "#/components/schemas/Refusal" };
  expect(schemaOf("POST /transformations/publish")).toEqual(refusal);
  const [first, second, ...others] = schemaOf("POST /libraries/publish").anyOf;
  expect([first, others]).toEqual([refusal, []]);
  expect(second.properties.published).toEqual({ type: "boolean" });
});

/** The names of parameters and fields by the value of one of their keywords. */
function namesBy(keyword: string): Record<string, string[]> {
  const found = ofApi.filter(({ path, value }) => {
    return path.at(-1) === keyword && ["number", "boolean", "string"].includes(typeof value);
  });
  const names = found.map(({ path, value }) => {
    const holders = path.slice(0, -1).filter((_, at, all) => all[at - 1] === "properties");
    const parameter = path[3] === "parameters" ? document.paths[path[1]!][path[2]!] : undefined;
    return [value, holders.at(-1) ?? parameter?.parameters[Number(path[4])].name] as const;
  });
  const groups = Map.groupBy(names, ([value]) => String(value));
  return Object.fromEntries(
    [...groups].map(([value, of]) => [value, [...new Set(of.map(([, name]) => name))].sort()]),
  );
}

describe("the OpenAPI document names the bounds of what is sent:", () => {
  test("texts and lists that may not be empty have one character or item at least", () => {
    expect(Object.keys(namesBy("minLength"))).toEqual(["1"]);
    expect(Object.keys(namesBy("minItems"))).toEqual(["1"]);
  });

  test("the least value of each number", () => {
    expect(namesBy("minimum")).toEqual({
      0: ["clearSeconds", "dedupSeconds", "durationMs", "expected", "forSeconds", "version"],
      1: ["count", "limit", "page", "rate", "threshold"],
      60: ["step"],
    });
    expect(namesBy("multipleOf")).toEqual({ 60: ["step"] });
  });

  test("the greatest lengths that no limit of the reference names", () => {
    const lengths = namesBy("maxLength");
    expect(lengths[40]).toEqual(["updatedAfter"]);
    expect(lengths[100]).toEqual(["action", "timeZone"]);
    const ofLogs = operationOf("GET /v2/logs").parameters;
    const schemaOf = (name: string) => ofLogs.find((it: any) => it.name === name).schema;
    expect(schemaOf("text").maxLength).toBe(255);
    expect(schemaOf("limit")).toMatchObject({ maximum: 500, default: 100 });
  });

  test("the meaning of an absent parameter", () => {
    const defaultsOf = (key: string) =>
      Object.fromEntries(
        operationOf(key)
          .parameters.filter(({ schema }: any) => "default" in schema)
          .map(({ name, schema }: any) => [name, schema.default]),
      );
    const pages = { page: 1, count: 50 };
    expect(defaultsOf("GET /v2/sources")).toEqual({ page: 1 });
    expect(defaultsOf("GET /v2/status/destinations")).toEqual(pages);
    expect(defaultsOf("GET /v2/status/names")).toEqual({ ...pages, kind: "source" });
    expect(defaultsOf("GET /v2/code")).toEqual({ ...pages, kind: "transformation" });
    expect(defaultsOf("GET /transformations")).toEqual({ published: true, code: true });
    expect(defaultsOf("GET /transformations/{id}")).toEqual({ draft: false });
    expect(defaultsOf("GET /libraries/{id}/versions")).toMatchObject({ orderBy: "asc" });
    expect(defaultsOf("GET /v2/events/search")).toEqual({ limit: 50 });
  });

  test("bodies in which an unknown key is refused", () => {
    const strict = places.filter(
      ({ path, value }) => path.at(-1) === "additionalProperties" && value === false,
    );
    const named = strict.map(({ path }) => path.slice(2, -1).join("/"));
    const ofComponents = named.filter((path) => !path.startsWith("DestinationConfig"));
    expect(new Set(ofComponents)).toEqual(
      new Set([
        ...["AlertReceiverChange", "AlertRuleChange", "DeadLetterSelection", "EventFilter"],
        ...["NewAlertReceiver", "NewAlertRule", "NewReplay", "NewTestCase", "NewToken"],
        ...["QuietHours", "Run"],
        "DeadLetterSelection/properties/filter",
        "EventFilter/properties/conditions/items",
        "NewReplay/properties/filter",
        "NewSource/properties/settings",
        "SourceChange/properties/settings",
      ]),
    );
  });

  test("the secrets of a receiver of alerts, which no answer has", () => {
    const { NewAlertReceiver, AlertReceiver } = document.components.schemas;
    for (const key of ["url", "routingKey", "authorization"]) {
      expect([key, NewAlertReceiver.properties[key].writeOnly]).toEqual([key, true]);
      expect(AlertReceiver.properties).not.toHaveProperty(key);
    }
  });
});

describe("an operation of the data plane in the OpenAPI document", () => {
  test("has the address of the data plane, and the name of its path", () => {
    const description = expect.any(String);
    for (const path of ["/pixel/v1/track", "/v1/track", "/v1/batch", "/sourceConfig"]) {
      expect(document.paths[path].servers).toEqual([{ url: "http://data.test", description }]);
    }
    const { servers } = document.paths["/customTransform"];
    expect(servers).toEqual([{ url: "http://127.0.0.1:9090", description }]);
    for (const { key, operation } of operations) {
      const words = key.split(/[^A-Za-z0-9]+/).filter(Boolean);
      const [method = "", ...rest] = words;
      expect(operation.operationId).toBe([method.toLowerCase(), ...rest].join("_"));
    }
  });

  test("takes an event of one type or a batch, by a write key, and names its short path", () => {
    const bodyOf = (key: string) => operationOf(key).requestBody.content["application/json"];
    for (const type of ["track", "page", "identify", "screen", "group", "alias"]) {
      const { description, security, requestBody } = operationOf(`POST /v1/${type}`);
      expect(description).toEndWith(` The path /v1/${type[0]} does the same.`);
      expect([security, requestBody.required]).toEqual([[{ writeKey: [] }], true]);
      const { schema, example: shown } = bodyOf(`POST /v1/${type}`);
      expect(schema.properties).toMatchObject({
        ...{ userId: { type: ["string", "number", "boolean"] }, event: { type: "string" } },
        ...{ properties: { type: "object" }, context: { type: "object" } },
      });
      for (const name of Object.keys(shown)) expect(Object.keys(schema.properties)).toContain(name);
    }
    const batch = bodyOf("POST /v1/batch").schema;
    expect([batch.type, batch.required]).toEqual(["object", ["batch"]]);
    expect(batch.properties.batch.type).toBe("array");
    expect(batch.properties.batch.items).toEqual(bodyOf("POST /v1/track").schema);
    expect(operationOf("POST /v1/batch").description).toContain("/v1/b and /v1/import");
    expect(operationOf("GET /sourceConfig").security).toEqual([{ writeKey: [] }, {}]);
  });

  test("has its write key in the query where it has no header, or in its path", () => {
    const keyOf = (key: string) => {
      const { in: place, required } = operationOf(key).parameters.find(
        ({ name }: { name: string }) => name === "writeKey",
      );
      return [place, required];
    };
    expect(keyOf("POST /beacon/v1/batch")).toEqual(["query", false]);
    expect(keyOf("GET /sourceConfig")).toEqual(["query", false]);
    expect(keyOf("GET /v1/projects/{writeKey}/settings")).toEqual(["path", true]);
    expect(keyOf("GET /pixel/v1/page")).toEqual(["query", true]);
  });
});

const answerOf = (key: string): any => routes.find((it) => it.key === key)!.example.answer;

test("the examples of the OpenAPI document show what is enabled and live, and no secret setting", () => {
  const { source, destination, connection, alertRule, alertReceiver } = example;
  const { sources, destinations, connections } = answerOf("GET /v2/overview");
  for (const { enabled } of [
    ...[source, destination, connection, alertRule, alertReceiver],
    ...[...sources, ...destinations, ...connections],
  ]) {
    expect(enabled).toBe(true);
  }
  expect([destinations[0].rejecting, destinations[0].state]).toEqual([false, "ok"]);
  const { transformation, transformationVersion, library, libraryVersion } = example;
  const states = [transformation, library, libraryVersion, transformationVersion].map((it) => {
    return [it.isPublished, it.wasPublished];
  });
  const live = [true, true];
  expect(states).toEqual([live, live, live, [false, false]]);
  expect(transformation.destinations.map(({ enabled }) => enabled)).toEqual([true]);
  expect(source.settings).toMatchObject({ geoEnrichment: false, dedupSeconds: 0 });
  expect(answerOf("GET /v2/events")).toStartWith('event: delivered\ndata: {"stage":"delivered",');
  expect(answerOf("GET /workspaceConfig").enableMetrics).toBe(false);
  const [change, hidden] = example.auditEntry.changes;
  expect([change, hidden]).toEqual([
    { path: "config.batchSize", before: 1, after: 100 },
    { path: "config.headers", isSecret: true },
  ]);
});

test("the figures in the examples of the OpenAPI document fit together", () => {
  const { replay, response, deadLetterGroup, deadLetter, alertRule } = example;
  const counts: Record<keyof typeof replay.counts, number> = replay.counts;
  const { done, delivered, dropped, failed, discarded, moved, pending } = counts;
  expect(done).toBe(delivered + dropped + failed + discarded);
  expect([moved, pending]).toEqual([0, 0]);
  expect(Number(replay.progress)).toBe(done / (done + replay.left));
  const reason = `HTTP ${response.status} from receiver`;
  const { attempts, failedAttempts } = deadLetter;
  expect(failedAttempts).toHaveLength(attempts);
  for (const it of [deadLetterGroup, ...failedAttempts]) {
    expect([it.status, it.reason]).toEqual([response.status, reason]);
  }
  const { threshold, forSeconds, clearSeconds } = defaultRule(alertRule.kind);
  expect(alertRule).toMatchObject({ threshold: threshold!, forSeconds, clearSeconds });

  const overview = answerOf("GET /v2/overview");
  for (const name of ["sources", "destinations", "connections", "problems"]) {
    expect(overview[name]).toHaveLength(overview.totals[name]);
  }
  const [{ rates, lagEvents, lagSeconds, deadLetters }] = overview.destinations;
  expect(overview.totals).toMatchObject({ rates, lagEvents, lagSeconds, deadLetters });
  expect(rates.received).toBe(rates.delivered + rates.dropped + rates.failed);
  expect(overview.sources[0].receivedPerSecond).toBe(rates.received);
  for (const sums of Object.values<any>(answerOf("GET /v2/metrics/totals").items[0])) {
    if (typeof sums !== "object") continue;
    expect(sums.received).toBe(sums.delivered + sums.dropped + sums.failed);
    expect([sums.retried, sums.repeated]).toEqual([1, 0]);
  }
});
