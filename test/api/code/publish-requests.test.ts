import { describe, expect, test } from "bun:test";
import { versionsRange } from "../../../src/api/routes/code/code-routes.ts";
import { publishRoutes } from "../../../src/api/routes/code/publish.ts";
import {
  destinationIdsOf,
  eventList,
  isPublish,
  revisionInput,
  testInputList,
} from "../../../src/api/routes/code/publish-requests.ts";
import { runRoutes } from "../../../src/api/routes/code/run.ts";
import {
  JSON_LEVELS_MAX,
  TEST_EVENTS_MAX,
  VERSIONS_COUNT_DEFAULT,
} from "../../../src/settings/limits.ts";

/** Requests about code, and the calls of the publisher that they become. */

test.each([
  [undefined, undefined, false],
  [undefined, true, true],
  [undefined, false, false],
  [true, false, true],
  [false, true, false],
])("with publish %p in the query and %p in the body, code is published: %p", (...given) => {
  const [query, body, expected] = given;
  const flag = (publish?: boolean) => (publish === undefined ? {} : { publish });
  expect(isPublish({ query: flag(query), body: flag(body) })).toBe(expected);
});

test("a revision has the fields that the request sent, and who sent them", () => {
  const request = new Request("http://x/");
  const principal = { workspaceId: "w", tokenId: "t", permissions: new Set<never>() };
  const texts = { name: "N", language: "javascript", code: "", description: "", note: "why" };
  const fields = { ...texts, publish: false };
  const asked = { query: {}, principal, request };
  const of = { createdBy: principal, publish: false, caller: request.signal };
  expect(revisionInput({ ...asked, body: fields })).toEqual({ ...fields, ...of });
  const others = { name: undefined, events: [], externalId: "e", publish: false };
  expect(revisionInput({ ...asked, body: others }) as object).toStrictEqual(of);
});

test("one event is a list of one, and destinations are named by ids or by objects", () => {
  expect(eventList({ type: "page" })).toEqual([{ type: "page" }]);
  expect(eventList([{ n: 1 }, { n: 2 }])).toEqual([{ n: 1 }, { n: 2 }]);
  expect(destinationIdsOf({})).toEqual([]);
  const body = { destinationIds: ["a", { id: "b" }], destinations: [{ id: "c" }, "d"] };
  expect(destinationIdsOf(body)).toEqual(["a", "b", "c", "d"]);
});

const listOf = (count: number) => JSON.stringify(Array(count).fill({}));
/** An event object of a number of levels. */
const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;

test("events of a test are a list, or the JSON of one as older clients send it", () => {
  const events = [{ n: 1 }];
  expect(testInputList(events, "/a")).toBe(events);
  expect(testInputList(JSON.stringify(events), "/a")).toEqual(events);
  expect(testInputList("[]", "/a")).toEqual([]);
  expect(testInputList(listOf(TEST_EVENTS_MAX), "/a")).toHaveLength(TEST_EVENTS_MAX);
  expect(testInputList(`[${nested(JSON_LEVELS_MAX - 1)}]`, "/a")).toHaveLength(1);
});

test.each([
  ...["", "{}", "null", "[1]", "[null]", '[{"n":1},[]]', "[{}", "not JSON"],
  listOf(TEST_EVENTS_MAX + 1),
  `[${nested(JSON_LEVELS_MAX)}]`,
])("the text %j is refused as events of a test, with its place", (text) => {
  expect(() => testInputList(text, "/transformations/1/testInput")).toThrow(
    `JSON array of at most ${JSON_LEVELS_MAX} levels at /transformations/1/testInput, got other`,
  );
});

test("versions are listed from the oldest on, a few unless the request says otherwise", () => {
  expect(versionsRange({})).toEqual({ count: VERSIONS_COUNT_DEFAULT, order: "asc" });
  expect(versionsRange({ count: 1, orderBy: "desc" })).toEqual({ count: 1, order: "desc" });
});

/** Sends a request to a route whose publisher answers `result`; also returns what it was asked. */
function asker(routes: readonly { key: string }[], result: object = { published: true }) {
  const asked: unknown[] = [];
  const call = (name: string) => async (workspaceId: string, given: object) => {
    asked.push([name, workspaceId, given]);
    return result;
  };
  const names = ["publish", "test", "runSuites", "run"];
  const publishing = Object.fromEntries(names.map((name) => [name, call(name)]));
  const request = new Request("http://x/");
  const send = async (key: string, body: object): Promise<any> => {
    const route = routes.find((it) => it.key === key) as never as { handle(call: object): any };
    return await route.handle({ deps: { publishing }, workspaceId: "w", body, request });
  };
  return { send, asked, caller: request.signal };
}

describe("a request about several revisions", () => {
  const PUBLISH = "POST /libraries/publish";
  const empty = { transformations: [], libraries: [] };

  test("names them by their versions, with events and test suites of their own", async () => {
    const suite = { name: "Suite", input: [{ n: 2 }] };
    const body = {
      transformations: [
        "v1",
        { versionId: "v2", testInput: '[{"n":1}]', testSuite: [suite, { ...suite, id: "s" }] },
      ],
      libraries: ["l1", { versionId: "l2", other: 1 }],
      note: "why",
    };
    const { send, asked, caller } = asker(publishRoutes);
    expect(await send(PUBLISH, body)).toEqual({ published: true });
    await send("POST /transformations/publish", { libraries: ["l1"] });
    await send("POST /transformations/tests/run", { transformations: ["v1"] });
    const all = {
      transformations: [
        { versionId: "v1" },
        {
          ...{ versionId: "v2", testInput: [{ n: 1 }] },
          testSuite: [
            { ...suite, id: "Suite" },
            { ...suite, id: "s" },
          ],
        },
      ],
      libraries: [{ versionId: "l1" }, { versionId: "l2" }],
    };
    expect(asked).toStrictEqual([
      ["publish", "w", { caller, note: "why", ...all }],
      ["publish", "w", { caller, libraries: [{ versionId: "l1" }], transformations: [] }],
      ["runSuites", "w", { caller, libraries: [], transformations: [{ versionId: "v1" }] }],
    ]);
  });

  test("names the place of events that are none", async () => {
    const body = { transformations: ["v1", { versionId: "v2", testInput: "1" }] };
    const { send } = asker(publishRoutes);
    await expect(send(PUBLISH, body)).rejects.toThrow("at /transformations/1/testInput");
  });

  test.each([
    ...[PUBLISH, "POST /transformations/publish", "POST /transformations/tests/run"],
    "POST /transformations/libraries/test",
  ])("names one revision at least: %s", async (key) => {
    const { send, asked } = asker(publishRoutes);
    const message = "Expected at least one item in transformations or libraries, got none";
    for (const body of [{}, { transformations: [] }, { libraries: [] }]) {
      await expect(send(key, body)).rejects.toThrow(message);
    }
    expect(asked).toEqual([]);
  });

  test("may have two empty lists for a test, and to publish a commit, as the Action sends them", async () => {
    const { send, asked } = asker(publishRoutes);
    await expect(send(PUBLISH, empty)).rejects.toThrow("Expected at least one item");
    expect(await send(PUBLISH, { ...empty, commitId: "c" })).toEqual({ published: true });
    const nothing = { successTestResults: [], failedTestResults: [] };
    const path = "POST /transformations/libraries/test";
    expect(await send(path, empty)).toEqual({ result: nothing });
    expect(asked).toEqual([]);
    expect(await send(path, { libraries: ["l1"] })).toEqual({ result: { published: true } });
  });

  test("is answered 400 at the path of the Action when it is refused, and 200 at that of rudder-cli", async () => {
    const result = { published: false, message: "A test fails" };
    const { send } = asker(publishRoutes, result);
    const body = { libraries: ["l1"] };
    const refused = await send(PUBLISH, body);
    expect([refused.status, await refused.json()]).toEqual([400, result]);
    expect(await send("POST /transformations/publish", body)).toEqual(result);
  });
});

test("code that is not saved runs with a name, and without what the request leaves out", async () => {
  const { send, asked, caller } = asker(runRoutes);
  const language = "javascript";
  const libraries = [{ name: "L", code: "" }];
  const suite = { name: "Suite", input: [] };
  const events = [{ n: 1 }];
  const metadata = [{ m: 1 }];
  await send("POST /v2/run", { language, code: "" });
  const more = { libraries, events, metadata, testSuite: [suite] };
  await send("POST /v2/run", { language, name: " My code ", code: "x", ...more });
  await send("POST /v2/run", { language, libraries });
  const none = { events: [], metadata: [], testSuite: [] };
  const whole = { events, metadata, testSuite: [{ ...suite, id: "Suite" }] };
  expect(asked).toStrictEqual([
    [
      ...["run", "w"],
      { language, libraries: [], caller, transformation: { name: "code", code: "", ...none } },
    ],
    [
      ...["run", "w"],
      { language, libraries, caller, transformation: { name: "My code", code: "x", ...whole } },
    ],
    ["run", "w", { language, libraries, caller }],
  ]);
  for (const nothing of [{ language }, { language, libraries: [] }]) {
    const message = "Expected code, or libraries at /code, got neither";
    await expect(send("POST /v2/run", nothing)).rejects.toThrow(message);
  }
});
