import { afterAll, describe, expect, test } from "bun:test";
import type { DestinationKind } from "../../../src/destinations/destination.ts";
import {
  WEBHOOK_QUERY_LEVELS_MAX,
  WEBHOOK_QUERY_URL_CHARS_MAX,
} from "../../../src/destinations/webhook/limits.ts";
import { queryUrl } from "../../../src/destinations/webhook/query-url.ts";
import { webhookKind } from "../../../src/destinations/webhook/webhook.ts";
import { createEgress } from "../../../src/egress/egress.ts";
import { outgoing } from "../outgoing.ts";

const base = "https://a.test/in?a=b";
const bytes = (event: unknown) => Buffer.from(JSON.stringify(event));
const queryOf = (event: unknown) =>
  [...new URL(queryUrl(base, bytes(event))).searchParams].slice(1);

describe("an event in a query", () => {
  test.each<[string, unknown, [string, string][]]>([
    [
      "has its properties",
      { type: "track", properties: { a: 1, b: "x y&z", c: true } },
      [
        ["a", "1"],
        ["b", "x y&z"],
        ["c", "true"],
      ],
    ],
    [
      "has paths for what is nested",
      { properties: { a: { b: { c: 1 } }, "d.e": 2 } },
      [
        ["a.b.c", "1"],
        ["d.e", "2"],
      ],
    ],
    [
      "has indices for what is listed",
      { properties: { items: [{ price: 9.5 }, 3, [4]] } },
      [
        ["items[0].price", "9.5"],
        ["items[1]", "3"],
        ["items[2][0]", "4"],
      ],
    ],
    [
      "says what is empty",
      { properties: { a: null, b: {}, c: [], d: "", e: [null] } },
      [
        ["a", "<nil>"],
        ["b", "{}"],
        ["c", "[]"],
        ["d", ""],
        ["e[0]", "<nil>"],
      ],
    ],
    [
      "has the traits of an identify call",
      { type: "identify", traits: { a: 1 }, properties: { b: 2 } },
      [["a", "1"]],
    ],
    [
      "has the traits of its context",
      { type: "identify", context: { traits: { a: 1 } } },
      [["a", "1"]],
    ],
    [
      "has big numbers in full",
      { properties: { a: 9466052, b: 1e21 } },
      [
        ["a", "9466052"],
        ["b", "1e+21"],
      ],
    ],
    ["has no properties", { type: "page" }, []],
    ["has none that are no object", { properties: "text" }, []],
    ["is no object", 7, []],
    ["is null", null, []],
  ])("%s", (_, event, query) => {
    expect(queryOf(event)).toEqual(query);
  });

  test("has all digits of integers beyond 2^53", () => {
    const event = Buffer.from('{"properties":{"id":10153423121234567,"ids":[-9007199254740993]}}');
    expect(new URL(queryUrl(base, event)).search).toBe(
      "?a=b&id=10153423121234567&ids%5B0%5D=-9007199254740993",
    );
  });

  test("comes after the query that the URL has, escaped", () => {
    expect(queryUrl(base, bytes({ properties: { "ü&": "=#\r\n" } }))).toBe(
      "https://a.test/in?a=b&%C3%BC%26=%3D%23%0D%0A",
    );
  });

  test.each([
    ["long", { a: "x".repeat(WEBHOOK_QUERY_URL_CHARS_MAX) }, "characters"],
    ["long in escapes", { a: "€".repeat(WEBHOOK_QUERY_URL_CHARS_MAX / 4) }, "characters"],
    [
      "many",
      Object.fromEntries(Array.from({ length: 40_000 }, (_, n) => [`k${n}`, n])),
      "characters",
    ],
  ])("is refused when the properties are too %s", (_, properties, reason) => {
    expect(() => queryUrl(base, bytes({ properties }))).toThrow(reason);
  });

  test("is refused when the properties are too deep", () => {
    const deep = (levels: number) => {
      const text = `${"[".repeat(levels)}1${"]".repeat(levels)}`;
      return Buffer.from(`{"properties":{"a":${text}}}`);
    };
    expect(queryUrl(base, deep(WEBHOOK_QUERY_LEVELS_MAX - 1))).toContain("=1");
    for (const levels of [WEBHOOK_QUERY_LEVELS_MAX, 50_000]) {
      expect(() => queryUrl(base, deep(levels))).toThrow("levels");
    }
  });
});

describe("a webhook by GET", () => {
  const requests: { method: string; url: string; headers: Headers; body: string }[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { method, url, headers } = request;
      requests.push({ method, url, headers, body: await request.text() });
      return new Response(null, { status: url.includes("unwanted") ? 400 : 200 });
    },
  });
  const egress = createEgress({ allow: ["127.0.0.0/8"] });
  afterAll(() => {
    egress.close();
    server.stop(true);
  });
  const webhookUrl = `http://127.0.0.1:${server.port}/in?a=b`;
  const kind: DestinationKind = webhookKind(egress);
  const deliver = (webhookMethod: string, event: unknown) =>
    kind
      .open({ webhookUrl, webhookMethod, headers: [{ from: "X-A", to: "b" }] }, "workspace")
      .deliver([outgoing(bytes(event))], new AbortController().signal);

  test.each(["GET", "DELETE"])(
    "%s requests have the event in the query and no body",
    async (method) => {
      const event = { type: "track", event: "Bought", properties: { price: 9.5 } };
      expect(await deliver(method, event)).toEqual({ kind: "delivered" });
      const { headers, ...request } = requests.at(-1)!;
      expect(request).toEqual({ method, url: `${webhookUrl}&price=9.5`, body: "" });
      expect([
        headers.get("x-a"),
        headers.get("content-type"),
        headers.get("content-length"),
      ]).toEqual(["b", null, null]);
    },
  );

  test("hides its headers in an answer, and not the event's own words", async () => {
    const verdict = await deliver("GET", { properties: { plan: "unwanted", status: "HTTP" } });
    const reason = "HTTP 400 from receiver";
    expect(verdict).toMatchObject({ kind: "rejected", reason, answer: { sent: ["b"] } });
  });

  test("rejects an event that does not fit", async () => {
    const before = requests.length;
    const verdict = await deliver("GET", { properties: { a: "x".repeat(100_000) } });
    expect(verdict).toMatchObject({ kind: "rejected", reason: expect.stringContaining("65536") });
    expect(requests.length).toBe(before);
  });

  test("has neither a signature nor several events", () => {
    const faults = (more: object) => kind.validate({ webhookUrl, webhookMethod: "GET", ...more });
    expect(faults({})).toEqual([]);
    expect(faults({ batchSize: 2 }).map(({ path }) => path)).toEqual(["/batchSize"]);
    expect(faults({ secret: "s" }).map(({ path }) => path)).toEqual(["/secret"]);
  });
});
