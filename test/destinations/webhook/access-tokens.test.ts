import { afterAll, beforeAll, beforeEach, expect, type Mock, spyOn, test } from "bun:test";
import {
  OAUTH_ANSWER_BYTES_MAX,
  OAUTH_TOKEN_CHARS_MAX,
  OAUTH_TOKENS_KEPT_MAX,
} from "../../../src/destinations/webhook/limits.ts";
import {
  type AccessTokenError,
  AccessTokens,
} from "../../../src/destinations/webhook/oauth/access-tokens.ts";
import { KeptTokens } from "../../../src/destinations/webhook/oauth/kept-tokens.ts";
import { type Egress, EgressRefused, type EgressRequest } from "../../../src/egress/egress.ts";

const { signal } = new AbortController();

let now: number;
let clock: Mock<typeof performance.now>;
beforeAll(() => {
  clock = spyOn(performance, "now").mockImplementation(() => now);
});
beforeEach(() => {
  now = 5_000_000;
});
afterAll(() => clock.mockRestore());

interface Answer {
  status?: number;
  headers?: Record<string, string>;
  body?: string;
}

/** Tokens whose server gives a new one with each request, or answers with `given`. */
function setup(oauth: object = {}) {
  const requests: EgressRequest[] = [];
  const server = { given: undefined as Answer | Error | undefined, seconds: 600 as unknown };
  const egress = {
    async request(request: EgressRequest) {
      requests.push(request);
      const { given, seconds } = server;
      if (given instanceof Error) throw given;
      const token = { access_token: `t${requests.length}`, expires_in: seconds };
      const { status = 200, headers = {}, body = JSON.stringify(token) } = given ?? {};
      return { status, headers, body: Buffer.from(body) };
    },
  } as unknown as Egress;
  const config = { tokenUrl: "https://t.test/", clientId: "id", clientSecret: "s", ...oauth };
  const kept = new KeptTokens();
  const parts = { config, kept, key: "key", workspaceId: "w", timeoutMs: 7, egress };
  const tokens = new AccessTokens(parts as ConstructorParameters<typeof AccessTokens>[0]);
  const acquire = () => tokens.acquire(signal);
  const failure = () =>
    acquire().then(
      (token) => token,
      ({ isFinal, message, afterMs, status }: AccessTokenError) => ({
        ...{ isFinal, message: message.replace("No access token: ", ""), afterMs, status },
      }),
    );
  return { tokens, kept, server, requests, acquire, failure };
}

test("the request for a token has the credentials, and the limits of the destination", async () => {
  const { acquire, requests } = setup({ scope: "a b" });
  expect(await acquire()).toBe("t1");
  const [{ body, signal: stop, ...request } = {} as EgressRequest] = requests;
  expect(request).toEqual({
    ...{ workspaceId: "w", timeoutMs: 7, url: "https://t.test/", method: "POST" },
    ...{ answerBytesMax: OAUTH_ANSWER_BYTES_MAX + 1, isRepeatable: true },
    headers: {
      ...{ accept: "application/json", "user-agent": "pixelmill" },
      "content-type": "application/x-www-form-urlencoded",
      authorization: `Basic ${btoa("id:s")}`,
    },
  });
  expect([String(body), stop.aborted]).toEqual(["grant_type=client_credentials&scope=a+b", false]);
});

test.each([
  [100, 90_000],
  [1_000, 970_000],
  ["60", 54_000],
  [undefined, 270_000],
  ["", 270_000],
  [-1, 270_000],
  [1e9, 86_370_000],
])(
  "a token of %p s is replaced a tenth of its lifetime, and at most 30 s, before its end",
  async (seconds, ms) => {
    const { acquire, server } = setup();
    server.seconds = seconds;
    expect(await acquire()).toBe("t1");
    now += ms - 1;
    expect(await acquire()).toBe("t1");
    now += 1;
    expect(await acquire()).toBe("t2");
  },
);

test("a failure is repeated without a request, for 10 s if only the config can end it, and otherwise for 1 s", async () => {
  for (const [given, pauseMs, known] of [
    [{ status: 401 }, 10_000, { isFinal: true, message: "tokenUrl answered 401", status: 401 }],
    [{ status: 503 }, 1_000, { isFinal: false, message: "tokenUrl answered 503", status: 503 }],
    [
      { status: 503, headers: { "retry-after": "5" } },
      5_000,
      { isFinal: false, message: "tokenUrl answered 503", status: 503, afterMs: 5_000 },
    ],
    [
      { status: 400, headers: { "retry-after": "5" } },
      10_000,
      { isFinal: true, message: "tokenUrl answered 400", status: 400 },
    ],
    [new EgressRefused("Not there"), 10_000, { isFinal: true, message: "Not there" }],
    [new Error("Broken"), 1_000, { isFinal: false, message: "Broken" }],
  ] as [Answer | Error, number, object][]) {
    const { failure, server, requests } = setup();
    server.given = given;
    for (const [ms, count] of [
      [0, 1],
      [pauseMs - 1, 1],
      [1, 2],
    ] as const) {
      now += ms;
      expect(await failure()).toEqual({ afterMs: undefined, status: undefined, ...known } as never);
      expect([known, requests.length]).toEqual([known, count]);
    }
    now += pauseMs;
    server.given = undefined;
    expect(await failure()).toBe("t3");
  }
});

test.each([
  [{ status: 199 }, true],
  [{ status: 299 }, undefined],
  [{ status: 300 }, true],
  [{ status: 408 }, false],
  [{ status: 425 }, false],
  [{ status: 429 }, false],
  [{ status: 499 }, true],
  [{ status: 500 }, false],
  [{ body: "[]" }, false],
  [{ body: "null" }, false],
  [{ body: '{"access_token":"t1","token_type":"BEARER"}' }, undefined],
  [{ body: '{"access_token":"t1","token_type":"mac"}' }, true],
  [{ body: '{"access_token":"t1","token_type":7}' }, true],
  [{ body: '{"access_token":"t 1"}' }, false],
  [{ body: `{"access_token":"${"x".repeat(OAUTH_TOKEN_CHARS_MAX + 1)}"}` }, false],
  [{ body: '{"access_token":"t1"}'.padEnd(OAUTH_ANSWER_BYTES_MAX) }, undefined],
  [{ body: '{"access_token":"t1"}'.padEnd(OAUTH_ANSWER_BYTES_MAX + 1) }, false],
] as [Answer, boolean | undefined][])(
  "an answer gives a token, or a failure that is final or not: %#",
  async (given, isFinal) => {
    const { failure, server } = setup();
    server.given = given;
    const result = await failure();
    expect(typeof result === "string" ? undefined : result.isFinal).toBe(isFinal as boolean);
  },
);

test("the code of a token server is shown if the standard knows it", async () => {
  const known = [
    ...["invalid_request", "invalid_client", "invalid_grant", "unauthorized_client"],
    ...["unsupported_grant_type", "invalid_scope"],
  ];
  for (const code of [...known, "s", "server_error"]) {
    const { failure, server } = setup();
    server.given = { status: 400, body: JSON.stringify({ error: code }) };
    const told = known.includes(code) ? ` (${code})` : "";
    expect(await failure()).toMatchObject({ message: `tokenUrl answered 400${told}` });
  }
  const { failure, server } = setup();
  const long = JSON.stringify({ error: "invalid_scope" }).padEnd(OAUTH_ANSWER_BYTES_MAX + 1);
  server.given = { status: 400, body: long };
  expect(await failure()).toMatchObject({ message: "tokenUrl answered 400" });
});

test("a refused token is replaced at once, and then not for 30 s", async () => {
  const { tokens, acquire, requests } = setup();
  const first = await acquire();
  expect(tokens.invalidate(first)).toBe(true);
  const second = await acquire();
  expect(second).toBe("t2");
  // The others that sent the first token get the second one.
  expect(tokens.invalidate(first)).toBe(true);
  expect(await acquire()).toBe(second);
  now += 29_999;
  expect(tokens.invalidate(second)).toBe(false);
  expect(await acquire()).toBe(second);
  now += 1;
  expect(tokens.invalidate(second)).toBe(true);
  expect(await acquire()).toBe("t3");
  expect(requests).toHaveLength(3);
});

test("a token that was accepted before is replaced after 1 s", async () => {
  const { tokens, acquire } = setup();
  tokens.invalidate(await acquire());
  const token = await acquire();
  expect(tokens.wasAccepted(token)).toBe(false);
  tokens.accept(token);
  expect(tokens.wasAccepted(token)).toBe(true);
  now += 999;
  expect(tokens.invalidate(token)).toBe(false);
  now += 1;
  expect(tokens.invalidate(token)).toBe(true);
});

test("the last eight tokens that were accepted are known", () => {
  const { tokens } = setup();
  const all = Array.from({ length: 9 }, (_, n) => `t${n}`);
  for (const token of all.slice(0, 8)) tokens.accept(token);
  tokens.accept("t0");
  expect(all.filter((token) => tokens.wasAccepted(token))).toEqual(all.slice(0, 8));
  tokens.accept("t8");
  expect(all.filter((token) => tokens.wasAccepted(token))).toEqual(all.slice(1));
});

test("a caller that is stopped leaves the request to the others, and a closed destination ends it", async () => {
  const { tokens, requests, acquire } = setup();
  const stop = new AbortController();
  const stopped = tokens.acquire(stop.signal);
  const other = acquire();
  stop.abort(new Error("Stopped"));
  await expect(stopped).rejects.toThrow("Stopped");
  expect([await other, requests.length]).toEqual(["t1", 1]);
  tokens.close();
  expect(requests[0]!.signal.aborted).toBe(true);
  expect(requests[0]!.signal.reason.message).toBe("The destination was closed");
});

const token = (text: string, ms = 1) => ({ text, freshUntil: now + ms });

test("the tokens that are kept are bounded, and the one that was set first goes first", () => {
  const kept = new KeptTokens();
  for (let n = 0; n < OAUTH_TOKENS_KEPT_MAX; n++) kept.set(`k${n}`, token(`t${n}`));
  expect(kept.get("k0")?.text).toBe("t0");
  kept.set("k0", token("new"));
  kept.set("one more", token("more"));
  expect(["k0", "k1", "k2", "one more"].map((key) => kept.get(key)?.text)).toEqual([
    ...["new", undefined, "t2", "more"],
  ]);
  kept.delete("k2");
  expect(kept.get("k2")).toBeUndefined();
});

test("a token that has ended is not given, and forgotten when another one is set", () => {
  const kept = new KeptTokens();
  const stored = spyOn(Map.prototype, "delete");
  try {
    kept.set("old", token("a", 1));
    kept.set("young", token("b", 10));
    now += 1;
    expect(kept.get("old")).toBeUndefined();
    expect(kept.get("young")?.text).toBe("b");
    stored.mockClear();
    kept.set("new", token("c"));
    expect(stored.mock.calls.map(([key]) => key)).toEqual(["new", "old"]);
  } finally {
    stored.mockRestore();
  }
});
