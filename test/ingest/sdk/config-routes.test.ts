import { afterAll, describe, expect, test } from "bun:test";
import { sourceOf } from "../harness.ts";
import { basic, openSdkListener } from "./_sdk.ts";

const sources = [sourceOf("plain", true), sourceOf("disabled", false)];
const server = openSdkListener({
  source: (writeKey) => sources.find((source) => source.writeKey === writeKey),
  publicUrl: "https://data.shop.example/events",
});
afterAll(() => server.stop());

describe("a request for the configuration of an SDK", () => {
  const origin = "https://www.shop.example";

  test.each([
    ["/sourceConfig?p=npm&v=3", { authorization: basic("plain") }, 200],
    ["/sourceConfig/?writeKey=plain", {}, 200],
    ["/sourceConfig/?writeKey=no", { authorization: basic("plain") }, 200],
    ["/sourceConfig", { authorization: basic("no") }, 400],
    ["/sourceConfig/", {}, 401],
    ["/sourceConfig?writeKey=disabled", {}, 404],
    ["/v1/projects/plain/settings", {}, 200],
    ["/v1/projects/plain/settings/", {}, 200],
    ["/v1/projects/no/settings", {}, 404],
    ["/v1/projects/disabled/settings", {}, 404],
  ] as [string, Record<string, string>, number][])(
    "%s is answered by its write key",
    async (path, headers, status) => {
      const answer = await fetch(server.url + path, { headers: { origin, ...headers } });
      expect(answer.status).toBe(status);
      expect(answer.headers.get("access-control-allow-origin")).toBe(origin);
      expect(answer.headers.get("content-type")).toBe("application/json");
      const body = (await answer.json()) as Record<string, unknown>;
      expect(Object.keys(body)[0]).toBe(
        status !== 200 ? "message" : path.startsWith("/source") ? "source" : "integrations",
      );
      const length = answer.headers.get("content-length");
      const read = await fetch(server.url + path, { method: "HEAD", headers });
      expect({ status: read.status, length: read.headers.get("content-length") }).toEqual({
        status,
        length,
      });
    },
  );

  test("tells Segment's SDK the address under which browsers reach the server", async () => {
    const answer = await fetch(`${server.url}/v1/projects/plain/settings`);
    expect(await answer.json()).toMatchObject({
      integrations: {
        "Segment.io": {
          apiKey: "plain",
          apiHost: "data.shop.example/events/v1",
          protocol: "https",
        },
      },
    });
  });

  test("has its preflight answered without a look-up of the write key", async () => {
    for (const path of ["/sourceConfig/", "/v1/projects/no/settings"]) {
      const headers = { origin, "access-control-request-headers": "authorization" };
      const answer = await fetch(server.url + path, { method: "OPTIONS", headers });
      expect(answer.status).toBe(204);
      expect(answer.headers.get("access-control-allow-methods")).toBe("GET, HEAD, OPTIONS");
      expect(answer.headers.get("access-control-allow-headers")).toBe("authorization");
    }
    const sent = await fetch(`${server.url}/sourceConfig`, { method: "POST" });
    expect(await sent.json()).toEqual({
      message: "Expected the method GET or HEAD",
      code: 405,
    });
  });
});
