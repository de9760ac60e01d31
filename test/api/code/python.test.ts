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
