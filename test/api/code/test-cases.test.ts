import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { PATIENCE_MS } from "../../sandbox/support.ts";
import { startApi, type TestApi } from "../_setup.ts";

setDefaultTimeout(PATIENCE_MS);

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

async function transformation(code: string): Promise<string> {
  const body = { name: "T", language: "javascript", code };
  return (await api.send("POST", "/transformations", { body })).body.id;
}

test("a test case is added, listed, changed and deleted", async () => {
  const id = await transformation("export const transformEvent = (event) => event;");
  const path = `/v2/transformations/${id}/test-cases`;
  const body = { name: "Same", input: [{ n: 1 }], expectedOutput: [{ n: 1 }] };
  const added = await api.send("POST", path, { body });
  expect([added.status, added.body.testCase]).toMatchObject([201, body]);
  const item = `${path}/${added.body.testCase.id}`;
  const changed = await api.send("PUT", item, { body: { ...body, name: "Other" } });
  expect(changed.body.testCase).toMatchObject({ id: added.body.testCase.id, name: "Other" });
  expect(changed.body.testCase.versionId).not.toBe(added.body.testCase.versionId);
  expect((await api.send("GET", path)).body.testCases).toEqual([changed.body.testCase]);
  expect((await api.send("DELETE", item)).status).toBe(204);
  expect((await api.send("DELETE", item)).status).toBe(404);
  expect((await api.send("GET", path)).body.testCases).toEqual([]);
});

test("a test case without events, or with an unknown key, is refused", async () => {
  const id = await transformation("");
  const path = `/v2/transformations/${id}/test-cases`;
  for (const body of [{ name: "x", input: [] }, { name: "x", input: [{}], expected: [] }, {}]) {
    expect((await api.send("POST", path, { body })).status).toBe(400);
  }
});

test("a real run compares all test cases in the same guest and each with fresh module state", async () => {
  const code = `let count = 0;
    export function transformEvent(event) { return { ...event, count: ++count }; }`;
  const suite = (name: string, count: number) => ({
    name,
    input: [{ n: 1 }],
    expectedOutput: [{ n: 1, count }],
  });
  const testSuite = [suite("one", 1), suite("also one", 1), suite("not two", 2)];
  const body = { language: "javascript", code, testSuite };
  const { body: report } = await api.send("POST", "/v2/run", { body });
  expect(report.testSuites).toMatchObject([
    { name: "one", status: "pass" },
    { name: "also one", status: "pass" },
    {
      name: "not two",
      status: "fail",
      differences: [{ path: "/0/count", expected: "2", actual: "1" }],
    },
  ]);
});

test("a publish that a stored test case refuses answers its id and differences", async () => {
  const id = await transformation("export const transformEvent = (event) => event;");
  const path = `/v2/transformations/${id}/test-cases`;
  const body = { name: "Adds a flag", input: [{ n: 1 }], expectedOutput: [{ n: 1, flag: true }] };
  const { testCase } = (await api.send("POST", path, { body })).body;
  const refused = await api.send("POST", `/transformations/${id}?publish=true`, { body: {} });
  expect([refused.status, refused.body.details]).toMatchObject([
    400,
    [{ testCase: testCase.id, differences: [{ path: "/0/flag", expected: "true" }] }],
  ]);
  const code = "export const transformEvent = (event) => ({ ...event, flag: true });";
  const done = await api.send("POST", `/transformations/${id}?publish=true`, { body: { code } });
  expect([done.status, done.body.isPublished]).toEqual([200, true]);
});
