import { afterAll, beforeAll, expect, test } from "bun:test";
import { nearestName } from "../../src/settings/nearest-name.ts";
import { startApi, type TestApi } from "../api/_setup.ts";

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

test.each([
  ["publsh", "publish"],
  ["pulbish", "publish"],
  ["publishh", "publish"],
  ["published", "publish"],
  ["Publish", "publish"],
  ["PUBLSIH", "publish"],
  ["ordrBy", "orderBy"],
  ["order_by", "orderBy"],
  ["cont", "count"],
  ["cuont", "count"],
  ["upblihs", "publish"],
  ["pulbishx", "publish"],
  ["xxpublish", "publish"],
  ["xxpublisj", undefined],
  ["cXontZ", undefined],
  ["cuXntZ", undefined],
  ["publ", undefined],
  ["foo", undefined],
  ["", undefined],
  ["hasExternalId", undefined],
  ["x".repeat(100_000), undefined],
])("%p was meant to be %p", (name, meant) => {
  expect(nearestName(name, ["publish", "count", "orderBy"])).toBe(meant);
});

test("a short name tolerates fewer different letters", () => {
  expect([nearestName("name", ["page"]), nearestName("pge", ["page"])]).toEqual([
    undefined,
    "page",
  ]);
});

test("a misspelt publish stores nothing and is named; other unknown ones are ignored", async () => {
  const body = {
    name: "T",
    language: "javascript",
    code: "export const transformEvent = (e) => e;",
  };
  const typo = await api.send("POST", "/transformations?publsh=true", { body });
  expect([typo.status, typo.body]).toEqual([
    400,
    {
      message: "Expected the parameter publish, got a name that is almost the same",
      details: [
        {
          path: "?publish",
          message: "Expected the parameter publish, got a name that is almost the same",
        },
      ],
    },
  ]);
  expect((await api.send("GET", "/transformations?published=false")).body.transformations).toEqual(
    [],
  );
  const { status, body: made } = await api.send("POST", "/transformations?dryRun=1&publish=true", {
    body,
  });
  expect([status, made.isPublished]).toEqual([200, true]);
  expect((await api.send("GET", `/transformations/${made.id}/versions?Count=1`)).status).toBe(400);
});
