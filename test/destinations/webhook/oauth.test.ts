import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { DeliveryResult } from "../../../src/destinations/destination.ts";
import {
  OAUTH_ANSWER_BYTES_MAX,
  OAUTH_TOKEN_CHARS_MAX,
} from "../../../src/destinations/webhook/limits.ts";
import { RawSink } from "../../egress/sink.ts";
import { until } from "../../until.ts";
import { outgoing } from "../outgoing.ts";
import { type Got, Receiver, signal } from "../receiver.ts";

const clientSecret = "s3cret: &=ü%";
let receiver: Receiver;
let tokens: number;
/** The response of `/token`; a new token each time by default. */
let tokenAnswer: (got: Got) => Response | Promise<Response>;
/** The response of the receiver to a token. */
let hookStatus: (token: string | undefined) => number;

beforeEach(() => {
  tokens = 0;
  tokenAnswer = () =>
    Response.json({ access_token: `t${++tokens}`, token_type: "Bearer", expires_in: 600 });
  hookStatus = () => 200;
  receiver = new Receiver((got) => {
    if (got.target.startsWith("/token")) return tokenAnswer(got);
    return new Response(null, { status: hookStatus(got.headers.authorization) });
  });
});
afterEach(() => receiver.end());

const configOf = (oauth: object = {}, over: object = {}) => ({
  webhookUrl: `${receiver.url}/hook`,
  oauth: { tokenUrl: `${receiver.url}/token`, clientId: "id@x", clientSecret, ...oauth },
  ...over,
});

function opened(oauth: object = {}, over: object = {}) {
  const config = configOf(oauth, over);
  expect(receiver.kind.validate(config)).toEqual([]);
  return receiver.kind.open(config, "workspace");
}
const deliver = (
  open = opened(),
  value: unknown = { n: 1 },
  byCode = false,
): Promise<DeliveryResult> => open.deliver([outgoing(value, {}, byCode)], signal);

const askedFor = (path: string) => receiver.got.filter(({ target }) => target.startsWith(path));
const authorizations = () => askedFor("/hook").map(({ headers }) => headers.authorization);

describe("OAuth 2 client credentials", () => {
  test("the id and the secret go in the header, as forms write them", async () => {
    expect(await deliver(opened({ scope: "a b", audience: "https://api" }))).toEqual({
      kind: "delivered",
    });
    const [asked] = askedFor("/token");
    expect(asked!.method).toBe("POST");
    expect(asked!.headers["content-type"]).toBe("application/x-www-form-urlencoded");
    expect(Object.fromEntries(new URLSearchParams(asked!.body.toString()))).toEqual({
      grant_type: "client_credentials",
      scope: "a b",
      audience: "https://api",
    });
    const pair = Buffer.from(asked!.headers.authorization!.slice("Basic ".length), "base64");
    expect(pair.toString()).toBe("id%40x:s3cret%3A+%26%3D%C3%BC%25");
    expect(authorizations()).toEqual(["Bearer t1"]);
  });

  test("sends the client credentials in the form where configured", async () => {
    await deliver(opened({ authStyle: "post" }));
    const [asked] = askedFor("/token");
    expect(asked!.headers).not.toHaveProperty("authorization");
    expect(Object.fromEntries(new URLSearchParams(asked!.body.toString()))).toEqual({
      grant_type: "client_credentials",
      client_id: "id@x",
      client_secret: clientSecret,
    });
  });

  test("a token is asked for once for many deliveries at once, and is used until it ends", async () => {
    const open = opened();
    await Promise.all(Array.from({ length: 20 }, () => deliver(open)));
    await deliver(open);
    expect([askedFor("/token").length, new Set(authorizations())]).toEqual([
      1,
      new Set(["Bearer t1"]),
    ]);
  });

  test.each<[unknown, number]>([
    [0, 2],
    ["0", 2],
    [0.0001, 2],
    ["600", 1],
    [undefined, 1],
    [null, 1],
    [-5, 1],
    ["soon", 1],
    [1e300, 1],
    [{}, 1],
  ])("a token that ends in %j s: two deliveries ask %d times", async (expires_in, times) => {
    tokenAnswer = () => Response.json({ access_token: `t${++tokens}`, expires_in });
    const open = opened();
    await deliver(open);
    await Bun.sleep(2);
    expect(await deliver(open)).toEqual({ kind: "delivered" });
    expect(askedFor("/token").length).toBe(times);
  });

  test("a token that the receiver refuses is replaced once, for all deliveries", async () => {
    const open = opened();
    await deliver(open);
    hookStatus = (token) => (token === "Bearer t1" ? 401 : 200);
    const verdicts = await Promise.all(Array.from({ length: 8 }, () => deliver(open)));
    expect(new Set(verdicts.map(({ kind }) => kind))).toEqual(new Set(["delivered"]));
    expect(askedFor("/token").length).toBe(2);
  });

  test("a token outlives the closed destination, for the same settings and workspace alone", async () => {
    for (const over of [{}, {}, { timeoutMs: 5_000 }]) {
      const open = opened({}, over);
      await deliver(open);
      await open.close();
    }
    await deliver(receiver.kind.open(configOf(), "another"));
    expect(authorizations()).toEqual(["Bearer t1", "Bearer t1", "Bearer t2", "Bearer t3"]);
    hookStatus = (token) => (token === "Bearer t1" ? 401 : 200);
    expect(await deliver()).toEqual({ kind: "delivered" });
    expect(await deliver()).toEqual({ kind: "delivered" });
    expect(authorizations().slice(4)).toEqual(["Bearer t1", "Bearer t4", "Bearer t4"]);
  });

  test("a refused token that was accepted before the destination was closed is no final failure", async () => {
    tokenAnswer = () => Response.json({ access_token: "same", expires_in: 600 });
    const first = opened();
    await deliver(first);
    await first.close();
    hookStatus = () => 401;
    const again = opened();
    for (let n = 0; n < 2; n += 1) expect((await deliver(again)).kind).toBe("retry");
  });

  test("a receiver that refuses every token does not have one asked for with every event", async () => {
    hookStatus = () => 401;
    const open = opened();
    for (let n = 0; n < 10; n += 1) {
      expect(await deliver(open)).toMatchObject({
        kind: "rejected",
        reason: "HTTP 401 from receiver",
      });
    }
    expect(askedFor("/token").length).toBe(2);
    expect(askedFor("/hook").length).toBe(11);
  });

  test("tokens that are revoked again and again make no delivery final", async () => {
    const open = opened();
    const kinds = new Set<string>();
    let revoked = 0;
    hookStatus = (token) => (Number(token?.replace("Bearer t", "")) <= revoked ? 401 : 200);
    expect((await deliver(open)).kind).toBe("delivered");
    for (let round = 0; round < 3; round++) {
      revoked = tokens;
      for (let n = 0; n < 2_000 && revoked === tokens; n++) {
        kinds.add((await deliver(open)).kind);
        await Bun.sleep(5);
      }
      expect((await deliver(open)).kind).toBe("delivered");
    }
    expect([...kinds].sort()).toEqual(["delivered", "retry"]);
    expect(askedFor("/token").length).toBe(4);
  });

  test("the longest token that is allowed is sent", async () => {
    const longest = "x".repeat(OAUTH_TOKEN_CHARS_MAX);
    tokenAnswer = () => Response.json({ access_token: longest });
    expect((await deliver()).kind).toBe("delivered");
    expect(authorizations()).toEqual([`Bearer ${longest}`]);
  });

  test("a receiver's response other than 401 keeps the token, and is as final as without one", async () => {
    const open = opened();
    for (const [status, kind] of [
      [403, "rejected"],
      [200, "delivered"],
      [403, "rejected"],
      [503, "retry"],
    ] as const) {
      hookStatus = () => status;
      expect((await deliver(open)).kind).toBe(kind);
    }
    expect([askedFor("/token").length, askedFor("/hook").length]).toEqual([1, 4]);
  });

  test("code cannot put another authorization in its place", async () => {
    const shaped = { n: 1, header: { Authorization: "Bearer mine" } };
    expect(await deliver(opened(), shaped, true)).toEqual({
      kind: "rejected",
      reason: "Expected no header authorization, which the access token needs",
    });
  });
});

const json =
  (value: unknown, status = 200) =>
  () =>
    Response.json(value, { status });
const text =
  (value: string, status = 200) =>
  () =>
    new Response(value, { status });

describe("a token's server that does not give one", () => {
  test.each<[string, () => Response, DeliveryResult["kind"], string]>([
    [
      "a wrong secret",
      json({ error: "invalid_client" }, 401),
      "rejected",
      "tokenUrl answered 401 (invalid_client)",
    ],
    [
      "a wrong scope",
      json({ error: "invalid_scope" }, 400),
      "rejected",
      "tokenUrl answered 400 (invalid_scope)",
    ],
    ["a code of its own", json({ error: clientSecret }, 400), "rejected", "tokenUrl answered 400"],
    ["a wrong path", text("Not found", 404), "rejected", "tokenUrl answered 404"],
    [
      "a redirect",
      () => Response.redirect("http://127.0.0.1:1/"),
      "rejected",
      "tokenUrl answered 302",
    ],
    [
      "another type",
      json({ access_token: "t", token_type: "mac" }),
      "rejected",
      "expected tokenUrl to answer with token_type Bearer",
    ],
    ["an outage", text("", 503), "retry", "tokenUrl answered 503"],
    ["a limit", text("", 429), "retry", "tokenUrl answered 429"],
    ["a page", text("<html>"), "retry", "expected a JSON object of at most"],
    ["a list", json([1]), "retry", "expected a JSON object of at most"],
    ["nothing", text(""), "retry", "expected a JSON object of at most"],
    [
      "too much",
      json({ access_token: "t", x: "x".repeat(OAUTH_ANSWER_BYTES_MAX) }),
      "retry",
      "expected a JSON object of at most",
    ],
    [
      "deep nesting",
      text(`{"access_token":${"[".repeat(50_000)}`),
      "retry",
      "expected a JSON object of at most",
    ],
    ["no token", json({}), "retry", "expected access_token of 1 to"],
    ["an empty token", json({ access_token: "" }), "retry", "expected access_token of 1 to"],
    ["a number", json({ access_token: 7 }), "retry", "expected access_token of 1 to"],
    [
      "a long token",
      json({ access_token: "x".repeat(OAUTH_TOKEN_CHARS_MAX + 1) }),
      "retry",
      "expected access_token of 1 to",
    ],
    [
      "a token with a header",
      json({ access_token: "t\r\nHost: evil" }),
      "retry",
      "expected access_token of 1 to",
    ],
  ])("%s", async (_, answer, kind, reason) => {
    tokenAnswer = answer;
    const verdict = await deliver();
    // `toMatchObject` puts its matchers in the place of the values that they match.
    const shown = JSON.stringify(verdict);
    expect(verdict).toMatchObject({
      kind,
      reason: expect.stringContaining(`No access token: ${reason}`),
    });
    expect(shown).not.toContain("s3cret");
    expect(askedFor("/hook")).toEqual([]);
  });

  test("is not asked again with every event, and may say for how long", async () => {
    tokenAnswer = json({ error: "invalid_client" }, 401);
    const wrong = opened();
    for (let n = 0; n < 5; n += 1) expect((await deliver(wrong)).kind).toBe("rejected");
    expect(askedFor("/token").length).toBe(1);
    tokenAnswer = () => new Response(null, { status: 503, headers: { "retry-after": "600" } });
    const busy = opened();
    for (let n = 0; n < 5; n += 1) expect(await deliver(busy)).toMatchObject({ afterMs: 600_000 });
    expect(askedFor("/token").length).toBe(2);
    // One that says "at once" is asked with the next delivery, before the usual pause.
    tokenAnswer = () => new Response(null, { status: 503, headers: { "retry-after": "0" } });
    const ready = opened({ scope: "other" });
    for (let n = 0; n < 3; n += 1) expect((await deliver(ready)).kind).toBe("retry");
    expect(askedFor("/token").length).toBe(5);
  });

  test("is asked again after a passing failure", async () => {
    tokenAnswer = text("", 500);
    const open = opened();
    expect((await deliver(open)).kind).toBe("retry");
    tokenAnswer = json({ access_token: "t" });
    await until(async () => (await deliver(open)).kind === "delivered");
    expect(authorizations()).toEqual(["Bearer t"]);
  });

  test("is unreachable, silent, or at an address that is not allowed", async () => {
    const down = await deliver(opened({ tokenUrl: "http://127.0.0.1:1/" }));
    expect(down).toMatchObject({ kind: "retry", reason: expect.stringContaining("ECONNREFUSED") });
    const inside = await deliver(opened({ tokenUrl: "http://10.1.2.3/" }));
    expect(inside).toMatchObject({
      kind: "rejected",
      reason: expect.stringContaining("(private)"),
    });
    const silent = new RawSink();
    const port = await silent.listen();
    const late = await deliver(
      opened({ tokenUrl: `http://127.0.0.1:${port}/` }, { timeoutMs: 300 }),
    );
    expect(late.kind).toBe("retry");
    silent.close();
  });

  test("a delivery that is stopped, or a destination that closes, does not wait for a token", async () => {
    const silent = new RawSink();
    const port = await silent.listen();
    const open = opened({ tokenUrl: `http://127.0.0.1:${port}/` }, { timeoutMs: 60_000 });
    const stop = new AbortController();
    const stopped = open.deliver([outgoing({})], stop.signal);
    const closed = open.deliver([outgoing({})], signal);
    while (silent.requests.length === 0) await Bun.sleep(5);
    stop.abort(new Error("Stop"));
    expect((await stopped).kind).toBe("retry");
    await open.close();
    expect((await closed).kind).toBe("retry");
    expect(silent.connections).toBe(1);
    silent.close();
  });
});

describe("a connection test with OAuth", () => {
  const steps = async (config: Record<string, unknown>) =>
    (await receiver.kind.test(config, "workspace", signal)).map(({ step, ok, message }) => [
      step,
      ok,
      message,
    ]);
  const passed = (...names: string[]) => names.map((name) => [name, true, undefined]);

  test("tells the sign-in before the write, and why it failed", async () => {
    expect(await steps(configOf())).toEqual(passed("resolve", "connect", "sign-in", "write"));
    hookStatus = () => 401;
    expect(await steps(configOf())).toEqual([
      ...passed("resolve", "connect", "sign-in"),
      ["write", false, "HTTP 401 from receiver"],
    ]);
    expect(await steps(configOf({}, { webhookUrl: "http://127.0.0.1:1/" }))).toEqual([
      ...passed("resolve"),
      ["connect", false, expect.stringContaining("ECONNREFUSED")],
    ]);
    tokenAnswer = json({ error: "invalid_client" }, 401);
    expect(await steps(configOf())).toEqual([
      ["sign-in", false, "No access token: tokenUrl answered 401 (invalid_client)"],
    ]);
  });
});

describe("faults of the settings", () => {
  const paths = (config: Record<string, unknown>) =>
    receiver.kind.validate(config).map(({ path, message }) => `${path}: ${message}`);

  test("name the setting and its fault", () => {
    const oauth = (over: object) => paths(configOf(over));
    const chars = "Expected a string of 1 to 2048 characters";
    expect(oauth({ tokenUrl: "ftp://a" })).toEqual([
      "/oauth/tokenUrl: Expected a URL with http:// or https://, and with a valid host and port",
    ]);
    expect(oauth({ clientSecret: undefined })).toEqual([
      `/oauth/clientSecret: ${chars}, got nothing`,
    ]);
    expect(oauth({ clientId: "" })).toEqual([
      `/oauth/clientId: ${chars}, got a string of 0 characters`,
    ]);
    expect(oauth({ authStyle: "jwt" })).toEqual([
      "/oauth/authStyle: Expected one of basic, post, got a string of 3 characters",
    ]);
    expect(paths({ webhookUrl: "http://a.test", oauth: "x" })).toEqual([
      "/oauth: Expected an object with tokenUrl, clientId and clientSecret, got a string of 1 character",
    ]);
    const headers = [{ from: "authorization", to: "x" }];
    expect(paths(configOf({}, { headers }))).toEqual([
      "/headers/0/from: Expected no header Authorization, which the access token needs",
    ]);
  });
});
