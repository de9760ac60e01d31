import { afterAll, beforeAll, expect, test } from "bun:test";
import { startApi, type TestApi } from "../_setup.ts";

let api: TestApi;
beforeAll(async () => {
  api = await startApi({
    suspensions: (workspaceId) =>
      workspaceId === api.workspaceId
        ? [{ transformationVersionId: "v", name: "Broken", until: 0, reason: "Error: boom" }]
        : [],
  });
});
afterAll(() => api.stop());

test("suspended code of the workspace is listed with its reason and its end", async () => {
  const { status, body } = await api.send("GET", "/v2/suspensions");
  expect(status).toBe(200);
  expect(body.suspensions).toEqual([
    {
      transformationVersionId: "v",
      name: "Broken",
      until: "1970-01-01T00:00:00.000Z",
      reason: "Error: boom",
    },
  ]);
});
