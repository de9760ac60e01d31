import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startApi, type TestApi } from "../_setup.ts";

/** Runs the API over Python code as over JavaScript: in other guests, with the same answers. */
let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

const create = (path: string, body: object) =>
  api.send("POST", `${path}?publish=true`, { body: { language: "pythonfaas", ...body } });

describe("Python", () => {
  test("is published, and its errors have their line", async () => {
    const code = [
      "import json",
      "def transformEvent(event, metadata):",
      "    event['size'] = len(json.dumps(event['list']))",
      "    return event",
    ].join("\n");
    const published = await create("/transformations", { name: "T", code, events: { list: [] } });
    expect([published.status, published.body.imports]).toEqual([200, ["json"]]);
    // The same code, over the two default events, which have no list.
    const throwing = await create("/transformations", { name: "T", code });
    expect([throwing.status, throwing.body.details[0]]).toEqual([
      400,
      expect.objectContaining({ path: "/events/0", line: 3 }),
    ]);
  }, 300_000);

  test("gets large integers of test events with all digits, and the store has them rounded", async () => {
    const code = [
      "def transformEvent(event, metadata):",
      "    event['next'] = event['n'] + 1",
      "    return event",
    ].join("\n");
    const output = '{"n":12345678901234567890,"next":12345678901234567891}';
    const events = '[{"n":12345678901234567890}]';
    const suite = `[{"name":"S","input":${events},"expectedOutput":[${output}]}]`;
    const fields = `"language":"pythonfaas","name":"T","code":${JSON.stringify(code)}`;
    const run = await api.send("POST", "/v2/run", {
      body: `{${fields},"events":${events},"testSuite":${suite}}`,
    });
    expect(run.text).toContain(`"outputs":[${output}]`);
    expect(run.text).toContain(`"actualOutput":[${output}]`);
    expect(run.body.testSuites).toMatchObject([{ status: "pass" }]);

    const stored = await api.send("POST", "/transformations?publish=true", {
      body: `{${fields},"events":${events}}`,
    });
    expect(stored.status).toBe(200);
    const { code: revisions } = api.catalog;
    const { id, versionId } = stored.body;
    const revision = revisions.revision(api.workspaceId, "transformation", id, versionId);
    expect(revisions.history(revision).events).toEqual([{ n: Number("12345678901234567890") }]);

    const added = await api.send("POST", `/v2/transformations/${id}/test-cases`, {
      body: `{"name":"C","input":${events},"expectedOutput":[${output}]}`,
    });
    expect(added.body.testCase.input).toEqual([{ n: Number("12345678901234567890") }]);
    const again = await api.send("POST", `/transformations/${id}?publish=true`, { body: {} });
    expect(again.status).toBe(200);
  }, 300_000);

  test("accepts its alias as language on update, and no other language", async () => {
    const { body } = await api.send("POST", "/transformations", {
      body: { name: "T", language: "python" },
    });
    const update = (language: string) =>
      api.send("POST", `/transformations/${body.id}`, { body: { language } });
    expect((await update("javascript")).body.message).toBe("Language cannot be changed");
    expect((await update("pythonfaas")).body.language).toBe("python");
  });
});
