import { afterAll, expect, test } from "bun:test";
import { PROVIDER_ANSWER_BYTES_MAX } from "../../../src/api/limits.ts";
import { boundedFetch } from "../../../src/api/sign-in/openid-provider.ts";

const requests: string[] = [];
const provider = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    const { method, headers } = request;
    requests.push(`${method} ${pathname} ${headers.get("x-a")} ${await request.text()}`);
    if (pathname === "/moved") return Response.redirect("/elsewhere", 302);
    if (pathname === "/empty") return new Response(null, { status: 204 });
    return new Response("a".repeat(Number(searchParams.get("bytes") ?? 1)), {
      status: 418,
      headers: { "x-b": "c" },
    });
  },
});
afterAll(() => provider.stop(true));

const ask = (path: string, options: object = {}) =>
  boundedFetch(undefined)(new URL(path, provider.url).href, {
    ...{ method: "GET", headers: {}, body: undefined, redirect: "manual" },
    ...options,
  });

test("a request reaches the provider as it is, and its answer comes back as it is", async () => {
  requests.length = 0;
  const answer = await ask("/token", { method: "POST", headers: { "x-a": "b" }, body: "c=d" });
  expect(requests).toEqual(["POST /token b c=d"]);
  expect([answer.status, answer.headers.get("x-b"), await answer.text()]).toEqual([418, "c", "a"]);
});

test("an answer without a body is passed on", async () => {
  const answer = await ask("/empty");
  expect([answer.status, await answer.text()]).toEqual([204, ""]);
});

test("a redirect is not followed", async () => {
  requests.length = 0;
  expect((await ask("/moved")).status).toBe(302);
  expect(requests).toEqual(["GET /moved null "]);
});

test("an answer that is too long is refused", async () => {
  const longest = await ask(`/?bytes=${PROVIDER_ANSWER_BYTES_MAX}`);
  expect((await longest.text()).length).toBe(PROVIDER_ANSWER_BYTES_MAX);
  await expect(ask(`/?bytes=${PROVIDER_ANSWER_BYTES_MAX + 1}`)).rejects.toThrow(
    `longer than ${PROVIDER_ANSWER_BYTES_MAX} bytes`,
  );
});

test("a request that its caller has aborted is not sent", async () => {
  requests.length = 0;
  await expect(ask("/", { signal: AbortSignal.abort() })).rejects.toThrow();
  expect(requests).toEqual([]);
});
