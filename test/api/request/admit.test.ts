import { describe, expect, spyOn, test } from "bun:test";
import type { RouteDeps } from "../../../src/api/deps.ts";
import { createLimiters, TooManyRequests } from "../../../src/api/limiters.ts";
import { API_BURST_SECONDS, BODY_BYTES_PER_REQUEST } from "../../../src/api/limits.ts";
import { admit, clientOf, noteLacking, readmit } from "../../../src/api/request/admit.ts";
import type { Route } from "../../../src/api/route.ts";
import type { Permission } from "../../../src/catalog/model.ts";
import { ApiError } from "../../../src/errors.ts";
import { RATE_BURST_SECONDS } from "../../../src/settings/limits.ts";

const principal = (permissions: Permission[]) => ({
  ...{ workspaceId: "w", tokenId: "t", permissions: new Set(permissions) },
});

const routeOf = (needs: Route["needs"], more: Partial<Route> = {}) =>
  ({ method: "GET", key: "GET /x", needs, ...more }) as Route;

/** Parts that admit requests with the token `good`; `noted` are requests for the audit log. */
function setUp(more: object = {}) {
  const noted: unknown[] = [];
  const counted: string[] = [];
  const tokens = {
    authenticate: (secret: string) => (secret === "good" ? principal(["events:read"]) : undefined),
    idsOf: (secret: string) => (secret === "old" ? { workspaceId: "w", tokenId: "o" } : undefined),
  };
  const deps = {
    ...{ hosts: ["console.test"], catalog: { tokens, sessions: {} } },
    limiters: { countRequest: (workspaceId: string) => void counted.push(workspaceId) },
    refusedTokens: { note: (it: unknown) => void noted.push(it) },
    tlsListener: { peerOf: () => "203.0.113.1" },
    clientOf: (peer: string, forwarded: string) => `${peer} for ${forwarded}`,
    ...more,
  } as unknown as RouteDeps;
  const incoming = (headers: Record<string, string>) => ({
    ...{ request: new Request("http://127.0.0.1/x", { headers }), server: null },
  });
  const ask = (route: Route, headers: Record<string, string> = {}) =>
    admit(route, deps, incoming(headers));
  return { deps, noted, counted, incoming, ask };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const client = "203.0.113.1 for ";

describe("a request", () => {
  test("with a token that has the permissions is admitted, and counted for its workspace", () => {
    const { ask, counted, noted } = setUp();
    expect(ask(routeOf(["events:read"]), bearer("good")).tokenId).toBe("t");
    expect([counted, noted]).toEqual([["w"], []]);
  });

  test("to an open route needs no token, and is not counted", () => {
    const { ask, counted } = setUp();
    expect(ask(routeOf("open"), bearer("bad")).workspaceId).toBe("");
    expect(counted).toEqual([]);
  });

  test("without a token is admitted where the setting says so, under a name of the control plane", () => {
    const route = routeOf(["events:read"], { opensWith: "opensCode" });
    const { ask, counted } = setUp({ opensCode: true });
    expect(ask(route, { host: "console.test" }).tokenId).toBe("");
    expect(() => ask(route, { host: "rebound.test" })).toThrow("setting admin.hosts as Host");
    expect(() => ask(route, bearer("bad"))).toThrow("Invalid, expired or revoked token");
    expect(counted).toEqual([]);
    for (const opensCode of [false, undefined]) {
      expect(() => setUp({ opensCode }).ask(route)).toThrow("Expected an Authorization header");
    }
    expect(() => ask(routeOf(["events:read"]))).toThrow("Expected an Authorization header");
  });

  test("of another site is refused before its token is read", () => {
    const { ask, noted } = setUp();
    const route = routeOf(["events:read"], { method: "POST" });
    expect(() => ask(route, { ...bearer("bad"), "sec-fetch-site": "cross-site" })).toThrow(
      "Expected a request of this origin",
    );
    expect(noted).toEqual([]);
  });

  test("with an unknown or expired token is counted for the audit log, one without a token is not", () => {
    const { ask, noted } = setUp();
    const route = routeOf(["events:read"]);
    for (const token of ["bad", "old"]) expect(() => ask(route, bearer(token))).toThrow(ApiError);
    expect(() => ask(route)).toThrow(ApiError);
    expect(noted).toEqual([
      { workspaceId: "", client, route: "GET /x", reason: "Unknown token" },
      { workspaceId: "w", tokenId: "o", client, route: "GET /x", reason: "Expired token" },
    ]);
  });

  test("whose token lacks a permission is counted for its workspace and for the audit log", () => {
    const { ask, counted, noted, deps, incoming } = setUp();
    const route = routeOf(["audit:read", "events:read", "events:replay"]);
    const reason = "The token lacks the permission audit:read and events:replay";
    expect(() => ask(route, bearer("good"))).toThrow(reason);
    expect(counted).toEqual(["w"]);
    expect(noted).toEqual([{ workspaceId: "w", tokenId: "t", client, route: "GET /x", reason }]);
    const note = (error: unknown, tokenId = "t") =>
      noteLacking(route, deps, incoming({}), { ...principal([]), tokenId }, error);
    for (const error of [new Error("x"), new ApiError("missing", "x")]) note(error);
    note(new ApiError("forbidden", "x"), "");
    expect(noted).toHaveLength(1);
    note(new ApiError("forbidden", "x"));
    expect(noted).toHaveLength(2);
  });

  test("above the rate is refused, and by 503 where 429 would lose events", () => {
    const limit = () => {
      throw new TooManyRequests(3, "Expected fewer requests");
    };
    const { ask } = setUp({ limiters: { countRequest: limit } });
    const refusalOf = (needs: Permission[]) => {
      try {
        ask(routeOf(needs), bearer("good"));
      } catch (error) {
        return error as ApiError;
      }
      return undefined;
    };
    expect(refusalOf(["events:read"])).toBeInstanceOf(TooManyRequests);
    const forProgram = refusalOf(["workspace-config:read"])!;
    expect([forProgram.refusal, forProgram.message]).toEqual([
      ...["unavailable", "Expected fewer requests"],
    ]);
  });

  test("is judged again by its token alone, and not counted again", () => {
    const { deps, incoming, counted, noted } = setUp();
    const again = (needs: Route["needs"], token: string) =>
      readmit(routeOf(needs), deps, incoming(bearer(token)));
    expect(again(["events:read"], "good").tokenId).toBe("t");
    expect(again("open", "good").tokenId).toBe("t");
    expect(() => again(["audit:read"], "good")).toThrow("lacks the permission audit:read");
    expect(() => again(["events:read"], "bad")).toThrow("revoked token");
    expect([counted, noted.length]).toEqual([[], 1]);
  });
});

test("the client of a request is its peer, or what a proxy says", () => {
  const { deps, incoming } = setUp();
  expect(clientOf(deps, incoming({ "x-forwarded-for": "198.51.100.7" }))).toBe(
    "203.0.113.1 for 198.51.100.7",
  );
  const unknown = setUp({ tlsListener: { peerOf: () => undefined } });
  expect(clientOf(unknown.deps, incoming({}))).toBe(" for ");
});

test.each([
  ["connectionTests", 4, 32, 5, "4 connection tests of a workspace and 32 in all"],
  ["liveTails", 10, 100, 10, "10 live tails of a workspace and 100 in all"],
  ["searches", 2, 16, 2, "2 searches of a workspace and 16 in all"],
  ["longLists", 4, Infinity, 1, "4 long lists at once"],
  ["recentEvents", 8, Infinity, 1, "8 requests of a workspace for recent events at once"],
  ["nodeQuestions", 16, Infinity, 1, "16 requests of a workspace that ask all nodes"],
  ["providerSignIns", 32, Infinity, 1, "32 sign-ins at once that wait for the OpenID provider"],
] as const)(
  "the limit of %s is %d of a workspace, and %d in all",
  (name, own, total, seconds, most) => {
    const limiter = createLimiters(0)[name];
    const refusal = new TooManyRequests(seconds, `Expected at most ${most}, got more`);
    const [first] = Array.from({ length: own }, () => limiter.acquire("a"));
    expect(() => limiter.acquire("a")).toThrow(refusal);
    try {
      limiter.acquire("a");
    } catch (error) {
      expect(error).toMatchObject({ retryAfterSeconds: seconds, refusal: "too-many" });
    }
    first!.release();
    limiter.acquire("a");
    const others = total === Infinity ? 100 : total - own;
    for (let n = 0; n < others; n += 1) limiter.acquire(`b${n}`);
    if (total === Infinity) limiter.acquire("c");
    else expect(() => limiter.acquire("c")).toThrow(refusal);
  },
);

test("requests and failed sign-ins have a rate, and each 64 KiB of a body counts as one request", () => {
  let now = 0;
  const clock = spyOn(performance, "now").mockImplementation(() => now);
  const limiters = createLimiters(1);
  limiters.countBody("w", API_BURST_SECONDS * BODY_BYTES_PER_REQUEST - 1);
  limiters.countRequest("w");
  expect(() => limiters.countRequest("w")).toThrow("got more than the setting admin.rate allows");
  limiters.countRequest("other");
  now += 1_000;
  limiters.countRequest("w");
  limiters.setRequestsPerSecondMax(0);
  limiters.countRequest("w");
  const fail = () => limiters.failedSignIns("203.0.113.1");
  for (let n = 0; n < 5 * RATE_BURST_SECONDS; n += 1) fail();
  expect(fail).toThrow("Expected at most 5 failed sign-ins of an address a second, got more");
  clock.mockRestore();
});
