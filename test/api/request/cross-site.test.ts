import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { refuseCrossSite } from "../../../src/api/request/cross-site.ts";
import { routes } from "../../../src/api/route-table.ts";
import { describeWith } from "../../counterpart.ts";
import { PAGE_PATIENCE_MS } from "../../until.ts";
import { chromiumMissing, sharedBrowser } from "../_chromium.ts";
import { startApi, type TestApi } from "../_setup.ts";

/** Requests that another site's page makes the operator's browser send. */
let api: TestApi;
beforeAll(async () => {
  api = await startApi({ hosts: ["admin.example.com"] });
});
afterAll(() => api.stop());

type Headers_ = Record<string, string>;
const basic = { authorization: "Basic eDp5" };
const hosts = ["admin.example.com", "admin.example.com:8443", "10.0.0.7:8081"];
const json = { "content-type": "application/json" };
const session = { cookie: "a=b; pixelmill-session=pms_x", ...json };
const change = { method: "POST", key: "POST /v2/sources", needs: [] } as const;
const read = { method: "GET", key: "GET /v2/sources", needs: [] } as const;
const metrics = { method: "GET", key: "GET /metrics", needs: "open" } as const;
const signIn = { method: "POST", key: "POST /v2/session", needs: "open" } as const;
const signOut = { method: "DELETE", key: "DELETE /v2/session", needs: "open" } as const;
const health = { method: "GET", key: "GET /health", needs: "open" } as const;

const passes: [string, Parameters<typeof refuseCrossSite>[0], Headers_][] = [
  ["a tool with Basic", change, { ...basic, host: "127.0.0.1:8081" }],
  ["its own page", change, { ...basic, host: "localhost:8081", origin: "http://localhost:8081" }],
  ["its page by IPv6", change, { ...basic, host: "[::1]:8081", origin: "http://[::1]:8081" }],
  [
    "its page behind a proxy that ends TLS",
    change,
    { ...basic, host: "127.0.0.1:8081", origin: "https://admin.example.com" },
  ],
  [
    "its page by a known name",
    change,
    { ...basic, host: "Admin.Example.com", origin: "https://Admin.Example.com" },
  ],
  [
    "a session's own page",
    change,
    { ...session, host: "localhost:8081", origin: "http://localhost:8081" },
  ],
  [
    "a session's page behind a proxy that leaves the Host alone",
    change,
    { ...session, host: "admin.example.com:443", origin: "https://admin.example.com" },
  ],
  [
    "a session's page behind a proxy at a port of the setting",
    change,
    { ...session, host: "127.0.0.1:8081", origin: "https://admin.example.com:8443" },
  ],
  ["a bearer by any name", change, { authorization: "Bearer x", host: "pixelmill.svc:8081" }],
  ["a bearer from any origin", change, { authorization: "Bearer x", origin: "null", host: "a" }],
  ["what the browser says is of its own origin", change, { "sec-fetch-site": "same-origin" }],
  ["a sign-in by a tool", signIn, { host: "127.0.0.1:8081", ...json }],
  ["a sign-out without an Origin", signOut, { ...session, host: "127.0.0.1:8081" }],
  ["reading by Basic", read, { ...basic, host: "app.localhost", origin: "http://evil.test" }],
  ["a scraper by address", metrics, { host: "10.0.0.7:8081" }],
  ["a scraper by a known name", metrics, { host: "admin.example.com:8081" }],
  ["a scraper of HTTP/1.0", metrics, {}],
  ["a check of health by any name", health, { host: "pixelmill" }],
];
/** These come from another port of the same host: a browser sends them the cookie. */
const otherPorts = [
  ["an allowed name at another port", "admin.example.com:8081", "http://admin.example.com:3000"],
  ["an allowed name with the port of HTTP", "admin.example.com", "http://admin.example.com:8080"],
  ["the address of the control plane at the port of HTTP", "10.0.0.7:8081", "http://10.0.0.7"],
  ["localhost at another port", "localhost:8081", "http://localhost:3000"],
] as const;
const refused: [string, Parameters<typeof refuseCrossSite>[0], Headers_][] = [
  ["a form of another site", change, { ...basic, host: "127.0.0.1", origin: "http://evil.test" }],
  ["a form in a sandboxed frame", change, { ...basic, host: "127.0.0.1", origin: "null" }],
  [
    "a page of another port",
    change,
    { ...basic, host: "127.0.0.1:8081", origin: "http://127.0.0.1:3000" },
  ],
  [
    "a page whose name ends like a known one",
    change,
    { ...basic, host: "127.0.0.1", origin: "http://evil-admin.example.com" },
  ],
  [
    "a cookie from another site",
    change,
    { cookie: "a=b", host: "127.0.0.1", origin: "http://e.t" },
  ],
  ["what the browser says is of another site", change, { "sec-fetch-site": "cross-site" }],
  ["what the browser says is of a sibling host", change, { "sec-fetch-site": "same-site" }],
  ["a sign-in from another site", signIn, { host: "127.0.0.1", origin: "http://evil.test" }],
  ["a session's cookie without an Origin", change, { ...session, host: "127.0.0.1:8081" }],
  [
    "a session's cookie with a form's type",
    change,
    { ...session, host: "a.localhost", origin: "http://a.localhost", "content-type": "text/plain" },
  ],
  ...otherPorts.map(([what, host, origin]): [string, typeof change, Headers_] => [
    `a session's cookie from ${what}`,
    change,
    { ...session, host, origin },
  ]),
  ["a rebound name with Basic", read, { ...basic, host: "evil.test:8081" }],
  ["a rebound name with a cookie", read, { cookie: "a=b", host: "evil.test" }],
  ["a rebound name at the metrics", metrics, { host: "evil.test" }],
  ["a rebound name that looks like an address", metrics, { host: "127.0.0.1.evil.test" }],
  ["localhost as a prefix", metrics, { host: "localhost.evil.test" }],
];

describe("a request from a browser", () => {
  test.each(passes)("passes: %s", (_, route, headers) => {
    expect(() => refuseCrossSite(route, new Headers(headers), hosts)).not.toThrow();
  });
  test.each(refused)("is refused: %s", (_, route, headers) => {
    expect(() => refuseCrossSite(route, new Headers(headers), hosts)).toThrow("Expected");
  });
});

/** Types that a page may send to another origin without asking it, and none. */
const simpleTypes = [
  "text/plain",
  "text/plain; application/json",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
  "application/json-patch+json",
  undefined,
];

test("every route that changes something expects a session's request to be of its own origin and in JSON", async () => {
  const signedIn = await api.send("POST", "/v2/session", {
    token: null,
    body: { token: api.token },
  });
  const Cookie = signedIn.headers.get("set-cookie")!.split(";")[0]!;
  const { hostname, port } = new URL(api.url);
  const changing = routes.filter(({ method }) => method !== "GET");
  expect(changing.length).toBeGreaterThan(30);
  for (const { key, method, path } of changing) {
    const target = path.replace(/\{\w+\}/g, "none");
    const status = async (headers: Headers_) =>
      (await api.send(method, target, { token: null, headers: { Cookie, ...headers } })).status;
    for (const type of simpleTypes) {
      const headers = { Origin: api.url, ...(type !== undefined && { "Content-Type": type }) };
      expect([key, type, await status(headers)]).toEqual([key, type, 403]);
    }
    const json = { "Content-Type": "application/json" };
    for (const origin of [`http://${hostname}:${Number(port) - 1}`, `http://${hostname}`, "null"]) {
      expect([key, origin, await status({ ...json, Origin: origin })]).toEqual([key, origin, 403]);
    }
    const isSignOut = key === "DELETE /v2/session";
    if (!isSignOut) {
      const own = await status({ ...json, Origin: api.url });
      expect([key, own === 403 || own === 401]).toEqual([key, false]);
    }
  }
});

test("a form of another site with cached Basic credentials rotates no write key", async () => {
  const { source } = await api.client.call("POST /v2/sources", { body: { name: "S" } });
  const credentials = `Basic ${Buffer.from(`x:${api.token}`).toString("base64")}`;
  const rotate = (headers: Headers_) =>
    api.send("POST", `/v2/sources/${source.id}/rotate-write-key`, {
      token: null,
      headers: { Authorization: credentials, ...headers },
    });
  const form = { "Content-Type": "application/x-www-form-urlencoded", Origin: "http://evil.test" };
  expect((await rotate(form)).status).toBe(403);
  expect((await rotate({ ...form, Origin: "null" })).status).toBe(403);
  const unchanged = await api.client.call("GET /v2/sources/{id}", { params: { id: source.id } });
  expect(unchanged.source.writeKey).toBe(source.writeKey);
  expect((await rotate({ Origin: api.url })).status).toBe(200);
});

test("a foreign host name reads no metrics, and the message names the setting", async () => {
  const { status, body } = await api.send("GET", "/metrics", {
    token: null,
    headers: { Host: "evil.test" },
  });
  expect([status, body.message]).toEqual([403, expect.stringContaining("admin.hosts")]);
  for (const Host of ["admin.example.com", "localhost:1", "[::1]:8081"]) {
    expect((await api.send("GET", "/metrics", { token: null, headers: { Host } })).status).toBe(
      200,
    );
  }
});

describeWith(chromiumMissing)("in Chromium, whose user is logged in by Basic,", () => {
  /** `admin.test` is a plain http name: no Sec-Fetch-Site comes from there. */
  test.each(["admin.test", "127.0.0.1", "localhost"])(
    "a foreign page's form to %s changes nothing, and the own page's request does",
    async (host) => {
      const own = await startApi({ hosts: ["admin.test"] });
      const { port } = new URL(own.url);
      const { source } = await own.client.call("POST /v2/sources", { body: { name: "S" } });
      const path = `/v2/sources/${source.id}/rotate-write-key`;
      const key = async () => own.catalog.sources.get(own.workspaceId, source.id).writeKey;
      const target = `http://${host}:${port}`;
      const evil = Bun.serve({
        hostname: "127.0.0.1",
        port: 0,
        fetch: () =>
          new Response(
            `<form method="post" action="${target}${path}"></form><script>document.forms[0].submit()</script>`,
            { headers: { "Content-Type": "text/html" } },
          ),
      });
      const browser = await sharedBrowser();
      const context = await browser.newContext({
        httpCredentials: { username: "me", password: own.token },
      });
      const page = await context.newPage();
      page.setDefaultTimeout(PAGE_PATIENCE_MS);
      await page.goto(`${target}/docs`);
      await page.waitForSelector("details.operation", { state: "attached" });

      const answered = page.waitForResponse((it) => it.url().endsWith(path) && it.status() !== 401);
      await page.goto(`http://evil.test:${evil.port}/`);
      expect((await answered).status()).toBe(403);
      expect(await key()).toBe(source.writeKey);

      await page.goto(`${target}/docs`);
      const rotated = await page.evaluate(
        async (to) => (await fetch(to, { method: "POST" })).status,
        `${target}${path}`,
      );
      expect(rotated).toBe(200);
      expect(await key()).not.toBe(source.writeKey);
      await context.close();
      await evil.stop(true);
      await own.stop();
    },
    300_000,
  );
});
