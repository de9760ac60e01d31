import { afterAll, expect, test } from "bun:test";
import { dataPlanePaths } from "../../../src/api/document/data-plane.ts";
import { sdkEndpoints } from "../../../src/ingest/sdk/paths.ts";
import { sourceOf } from "../harness.ts";
import { openSdkListener } from "./_sdk.ts";

/** The OpenAPI document of SDK requests, held against the listener that takes them. */

const server = openSdkListener({ source: (writeKey) => sourceOf(writeKey, true) });
afterAll(() => server.stop());
const paths = dataPlanePaths("http://localhost") as Record<string, any>;
const posts = Object.entries(paths).filter(([, { post }]) => post?.tags[0] === "sdk");

test.each(posts)(
  "the example of %s is stored, and answered as documented",
  async (path, { post }) => {
    const { example } = post.requestBody.content["application/json"];
    const answer = await server.post(path, example, {});
    expect(answer).toMatchObject({
      status: 200,
      body: post.responses[200].content["application/json"].example,
    });
    const stored = server.taken();
    expect(stored).toHaveLength(example.batch?.length ?? 1);
    for (const { refused } of stored) expect(refused).toBe(undefined);
  },
);

test("every path that takes events is in the document, by itself or as an alias", () => {
  const texts = JSON.stringify(paths);
  for (const path of sdkEndpoints.keys()) {
    if (!path.endsWith("/")) expect(texts).toMatch(new RegExp(`${path}\\b`));
  }
});

test.each(["/sourceConfig", "/v1/projects/{writeKey}/settings"])(
  "%s is answered as documented",
  async (path) => {
    const { get } = paths[path];
    const target = path.replace("{writeKey}", "key");
    const answer = await fetch(`${server.url}${target}?writeKey=key`);
    const { example } = get.responses[200].content["application/json"];
    const body = (await answer.json()) as object;
    expect(Object.keys(body)).toEqual(Object.keys(example));
    for (const [status, { content }] of Object.entries<any>(get.responses)) {
      if (status === "200") continue;
      expect(content["application/json"].example.code).toBe(Number(status));
    }
  },
);
