import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { bodyBytesMax, OPEN_BODY_BYTES_MAX } from "../../../src/api/request/handle.ts";
import type { Route } from "../../../src/api/route.ts";
import { routes } from "../../../src/api/route-table.ts";
import { sample } from "../../tier.ts";
import { exampleOf, makeThings, type Request, sendExample, type Things } from "../_examples.ts";
import { type Received, type Sent, startApi, type TestApi } from "../_setup.ts";

/**
 * Hostile input to every route, from the route table: whatever comes, the answer is a documented
 * one. `send` holds each answer against its route's documentation; here it is also looked
 * for the input, which never comes back in a refusal.
 */
let api: TestApi;
let things: Required<Things>;
beforeAll(async () => {
  api = await startApi();
  things = await makeThings(api);
});
afterAll(() => api.stop());

const marker = "zQ7markedInput";

async function sendHostile(request: Request, sent: Sent = {}): Promise<Received> {
  const answer = await sendExample(api, request, sent);
  expectNoEcho(answer);
  return answer;
}

/**
 * Output of the caller's code in a test report, and the name of an unknown key, are no echo of
 * input.
 */
function expectNoEcho({ status, text, body }: Received): void {
  if (status < 300) return;
  const { validationOutput, ...said } = body ?? {};
  const answer = validationOutput ? JSON.stringify(said) : text;
  expect(answer.replaceAll(`Unknown key \\"${marker}\\"`, "")).not.toContain(marker);
}

const withBody = routes.filter((route) => route.body);
/** Routes that start a guest for each request, which costs more than all the rest of a request. */
const startsGuest = ({ key }: Route) => /\/(?:run|test|publish)$/.test(key);
const named = (list: readonly Route[]) => list.map((route) => [route.key, route] as const);

const nested = (levels: number) => `${'{"a":['.repeat(levels / 2)}1${"]}".repeat(levels / 2)}`;

/** One of each kind of JSON value, with some that are hostile of their kind. */
const values: unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e308,
  "",
  "   ",
  marker,
  `${marker}\u0000\u2028\ud800`,
  marker.repeat(100),
  [],
  [[]],
  [null],
  [marker],
  [{ [marker]: marker }],
  {},
  { [marker]: marker },
  { length: 1, 0: marker, toString: marker, toJSON: marker, constructor: { prototype: marker } },
  JSON.parse(`{"__proto__": {"${marker}": "${marker}"}}`),
];

/** Fields that may have any key with any value. */
const free = ["events", "testInput", "input", "config"];

/** Pointers to every node of a JSON value that a schema speaks of, the root first. */
function nodes(value: unknown, at: string[] = []): string[][] {
  const inside = typeof value === "object" && value !== null ? Object.entries(value) : [];
  if (free.includes(at.at(-2) ?? "")) return [at];
  return [at, ...inside.flatMap(([key, item]) => nodes(item, [...at, key]))];
}

/** A copy in which a node is another value; `undefined` takes it away. */
function replaced(value: unknown, [key, ...rest]: string[], by: unknown): unknown {
  if (key === undefined) return by;
  const copy: any = Array.isArray(value) ? [...value] : { ...(value as object) };
  copy[key] = replaced(copy[key], rest, by);
  return copy;
}

describe("a body", () => {
  test.each(named(withBody))(
    "of %s with any part replaced",
    async (_, route) => {
      const request = exampleOf(route, things);
      const body = JSON.parse(request.body!);
      for (const [place, node] of nodes(body).entries()) {
        // In the quick tier, nodes of a body share the values.
        const step = startsGuest(route) ? 12 : 4;
        for (const value of sample([...values, undefined], place, step)) {
          const hostile = JSON.stringify(replaced(body, node, value)) ?? "";
          await sendHostile({ ...request, body: hostile });
        }
      }
      // Publishing and test runs start a guest each time.
    },
    300_000,
  );

  test.each(named(withBody))("of %s with unknown fields", async (_, route) => {
    const request = exampleOf(route, things);
    const unasked = "uX4unaskedField";
    const more = [
      "__proto__",
      "constructor",
      "id",
      "workspaceId",
      "versionId",
      "createdAt",
      unasked,
    ]
      .map((key) => `${JSON.stringify(key)}: {"${unasked}": 1}`)
      .join();
    const body = request.body!.replace("{", `{${more},`);
    expect((await sendHostile({ ...request, body })).text).not.toContain(unasked);
    expect(Object.hasOwn(Object.prototype, unasked)).toBe(false);
  });

  const raw: [string, string | Uint8Array, number][] = [
    ["is cut short", `{"name": "${marker}`, 400],
    ["has a comma too many", `{"${marker}": 1,}`, 400],
    ["is a bare word", marker, 400],
    ["is NaN", "NaN", 400],
    ["is two values", `{} {"${marker}":1}`, 400],
    ["holds a NUL", `{"a":"\u0000"}`, 400],
    ["is invalid UTF-8", new Uint8Array([0x7b, 0x22, 0xc3, 0x28, 0x22, 0x7d]), 400],
    ["is UTF-16", new Uint8Array(Buffer.from("{}", "utf16le")), 400],
    ["holds an overlong slash", new Uint8Array([0x22, 0xc0, 0xaf, 0x22]), 400],
    ["is nested 66 times", nested(66), 400],
    ["is nested a million times", "[".repeat(1_000_000), 400],
    ["is nested in keys that never end", '{"a":'.repeat(200_000), 400],
    ["is a string", `"${marker}"`, 400],
    ["is a number", "1e999", 400],
    ["is over 4 MiB", " ".repeat((1 << 22) + 1), 413],
  ];
  test.each(raw)("that %s is refused by every route", async (_, body, status) => {
    for (const route of withBody) {
      const { method, path } = exampleOf(route, things);
      const answer = await api.send(method, path, { body });
      expectNoEcho(answer);
      // A body is refused by its size before anything of it is parsed.
      const bytesMax = route.needs === "open" ? OPEN_BODY_BYTES_MAX : bodyBytesMax(route);
      const refused = body.length > bytesMax ? 413 : status;
      // A form is refused by its type before its size is known.
      expect([route.key, answer.status]).toEqual([route.key, route.isForm ? 400 : refused]);
    }
  });

  test("of another content type is refused by every route", async () => {
    const types = ["text/plain", "application/xml", "multipart/form-data", `${marker}/x`, "json"];
    for (const route of withBody) {
      for (const type of types) {
        const headers = { "Content-Type": type };
        const answer = await sendHostile(exampleOf(route, things), { headers });
        expect([route.key, type, answer.status]).toEqual([route.key, type, 400]);
      }
    }
  });

  test("with a string as long as a body may be gets an answer", async () => {
    const long = "x".repeat((1 << 22) - 4_096);
    for (const [place, route] of withBody.entries()) {
      const request = exampleOf(route, things);
      const body = JSON.parse(request.body!);
      for (const key of sample(Object.keys(body), place)) {
        await sendHostile({ ...request, body: JSON.stringify({ ...body, [key]: long }) });
      }
    }
  });

  test("of any JSON gets a documented answer", async () => {
    const arbitrary = fc.record({
      route: fc.constantFrom(...withBody),
      known: fc.dictionary(
        fc.constantFrom(...new Set(withBody.flatMap(({ body }) => Object.keys(body!.properties)))),
        fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constantFrom(...Object.values(things))),
      ),
    });
    await fc.assert(
      fc.asyncProperty(arbitrary, async ({ route, known }) => {
        const { method, path } = exampleOf(route, things);
        await api.send(method, path, { body: known });
      }),
      { numRuns: 600 },
    );
  }, 300_000);
});

describe("an id in the path", () => {
  const hostile = [
    marker,
    "%00",
    "%zz",
    "%ff%fe",
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "..%5c..%5c",
    "__proto__",
    "constructor",
    "null",
    "undefined",
    "-1",
    "%F0%9F%92%A9",
    "%ED%A0%80",
    "'%20OR%201=1--",
    "%3Cscript%3E",
    "a".repeat(10_000),
    "%20",
    "%7Bid%7D",
    "*",
    ":id",
  ];
  test("that cannot be an id is 404 in every route", async () => {
    for (const route of routes) {
      const names = [...route.path.matchAll(/\{(\w+)\}/g)].map(([placeholder]) => placeholder);
      // A namespace is any name: the answer is the same in all but one.
      for (const name of names.filter((it) => it !== "{namespace}")) {
        for (const id of hostile) {
          const path = route.path.replace(name, id);
          const answer = await sendHostile(exampleOf(route, things, path));
          expect([route.method, path, answer.status]).toEqual([route.method, path, 404]);
        }
      }
    }
  });
});

describe("a query", () => {
  const hostile = [
    "",
    marker,
    "-1",
    "0",
    "1e3",
    "0x1",
    "１",
    "99999999999999999999",
    "null",
    "[]",
    "%00",
    "%zz",
    "%ff",
    "x".repeat(10_000),
  ];
  const withQuery = routes.filter(({ query }) => Object.keys(query.properties).length > 0);

  test.each(named(withQuery))("of %s with any hostile value", async (_, route) => {
    const request = exampleOf(route, things);
    for (const [key, schema] of Object.entries(route.query.properties)) {
      for (const value of hostile) {
        if (request.path === "/v2/events") continue;
        const answer = await sendHostile({ ...request, path: `${request.path}?${key}=${value}` });
        const strict = schema.type !== "string";
        if (strict) expect([key, value, answer.status]).toEqual([key, value, 400]);
      }
      const twice = { ...request, path: `${request.path}?${key}=1&${key}=2` };
      expect((await api.send(twice.method, twice.path, { body: twice.body })).status).toBe(400);
    }
  });

  test("with unknown keys is answered as without them", async () => {
    for (const route of routes.filter(({ method, media }) => method === "GET" && !media)) {
      const { path } = exampleOf(route, things);
      const unread = "uX4unreadKey";
      const noise = `__proto__=${unread}&constructor[a]=1&&=&a.b=%zz&${unread}=${unread}`;
      const [plain, noisy] = [
        await api.send("GET", path),
        await api.send("GET", `${path}${path.includes("?") ? "&" : "?"}${noise}`),
      ];
      expect([path, noisy.status]).toEqual([path, plain.status]);
      expect(noisy.text).not.toContain(unread);
    }
  });
});

describe("a method", () => {
  test("that a path does not have is 405 with the allowed methods, also without a token", async () => {
    const paths = new Set(routes.flatMap((route) => [route.path, ...route.aliases]));
    for (const path of paths) {
      const request = routes.find((route) => [route.path, ...route.aliases].includes(path))!;
      const target = exampleOf(request, things, path).path.split("?", 1)[0]!;
      const has = methodsOf(target);
      for (const method of ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]) {
        if (has.includes(method)) continue;
        const { status, headers } = await api.send(method, target, { token: null });
        const allowed = headers.get("allow")?.split(", ").sort();
        expect([method, target, status, allowed]).toEqual([method, target, 405, has]);
      }
    }
  });

  /**
   * Methods of all routes that match a path: `/libraries/publish` also matches `/libraries/{id}`.
   */
  function methodsOf(target: string): string[] {
    const fits = ({ path, aliases }: Route) =>
      [path, ...aliases].some((it) =>
        new RegExp(`^${it.replace(/\{\w+\}/g, "[^/]+")}$`).test(target),
      );
    return [...new Set(routes.filter(fits).map(({ method }) => method as string))].sort();
  }
});

test("no hostile request failed with an unexpected error", async () => {
  expect(api.failures()).toEqual([]);
  expect((await api.send("GET", "/health")).status).toBe(200);
  expect(({} as any)[marker]).toBeUndefined();
});
