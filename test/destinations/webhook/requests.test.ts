import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { BodyBuffers } from "../../../src/destinations/webhook/body-buffers.ts";
import {
  WEBHOOK_HEADER_VALUE_CHARS_MAX,
  WEBHOOK_HEADERS_MAX,
} from "../../../src/destinations/webhook/limits.ts";
import { outgoing } from "../outgoing.ts";
import { Receiver, signal } from "../receiver.ts";

let receiver: Receiver;
beforeEach(() => {
  receiver = new Receiver();
});
afterEach(() => receiver.end());

const made = (value: unknown) => outgoing(value, {}, true);

/** Delivers events to the receiver's `/in`; the verdict. */
async function deliver(events: unknown[], over: Record<string, unknown> = {}, byCode = true) {
  const config = { webhookUrl: `${receiver.url}/in`, ...over };
  expect(receiver.kind.validate(config)).toEqual([]);
  const open = receiver.kind.open(config, "workspace");
  const verdict = await open.deliver(
    events.map((event) => outgoing(event, {}, byCode)),
    signal,
  );
  await open.close();
  return verdict;
}
const last = () => receiver.got.at(-1)!;
const body = () => JSON.parse(last().body.toString());

test("the memory of a list is given back once it is answered, and that of one event is its own", async () => {
  const give = spyOn(BodyBuffers.prototype, "give");
  try {
    for (const [batchSize, count] of [
      [10, 1],
      [1, 0],
    ] as const) {
      give.mockClear();
      expect((await deliver([{ n: 1 }], { batchSize })).kind).toBe("delivered");
      expect(give).toHaveBeenCalledTimes(count);
    }
  } finally {
    give.mockRestore();
  }
});

test("deliveries at the same time send their own lists, with short and long heads", async () => {
  const lists = Array.from({ length: 24 }, (_, n) => {
    const text = String(n).repeat(200 * n);
    return Array.from({ length: 1 + ((7 * n) % 20) }, (_, index) => ({ n, index, text }));
  });
  for (const length of [1, 2_000]) {
    const headers = [{ from: "x-text", to: "x".repeat(length) }];
    const config = { webhookUrl: `${receiver.url}/in`, batchSize: 100, headers };
    const open = receiver.kind.open(config, "workspace");
    receiver.got.length = 0;
    for (let round = 0; round < 2; round++) {
      const deliveries = lists.map((list) =>
        open.deliver(
          list.map((it) => outgoing(it)),
          signal,
        ),
      );
      for (const verdict of await Promise.all(deliveries)) expect(verdict.kind).toBe("delivered");
    }
    const got = receiver.got.map((request) => JSON.parse(request.body.toString()));
    const inOrder = got.toSorted(([one], [other]) => one.n - other.n);
    expect(inOrder).toEqual(lists.flatMap((list) => [list, list]));
    for (const request of receiver.got) expect(request.headers["x-text"]).toBe("x".repeat(length));
    await open.close();
  }
});

describe("a request that user code overrides", () => {
  const event = { type: "track", messageId: "m", properties: { a: 1 } };

  test("has the path and headers from the event, and the rest of the event as its body", async () => {
    const headers = [
      { from: "X-Team", to: "config" },
      { from: "Authorization", to: "config" },
    ];
    const header = { authorization: "Bearer x", "X-Count": 3, "X-Flag": false, "X-None": null };
    const more = {
      "X-Object": { a: "" },
      "X-Empty": "",
      "Content-Type": "application/cloudevents+json",
    };
    const shaped = { ...event, header: { ...header, ...more }, appendPath: "/a/b?c=d" };
    expect(await deliver([shaped], { headers })).toEqual({ kind: "delivered" });
    expect(last().target).toBe("/in/a/b?c=d");
    expect(body()).toEqual(event);
    expect(last().headers).toMatchObject({
      authorization: "Bearer x",
      "x-team": "config",
      "x-count": "3",
      "x-flag": "false",
      "x-none": "null",
      "x-object": '{"a":""}',
      "content-type": "application/cloudevents+json",
    });
    expect(last().headers).not.toHaveProperty("x-empty");
  });

  test.each<[string, object, object, string]>([
    ["nothing", {}, {}, "/in"],
    [
      "an empty path and no header",
      { appendPath: "", header: null },
      { appendPath: "", header: null },
      "/in",
    ],
    [
      "a path that is no text",
      { appendPath: 1, fullPath: {} },
      { appendPath: 1, fullPath: {} },
      "/in",
    ],
    ["a header that is no object", { header: "text" }, {}, "/in"],
    ["a path without a header", { appendPath: "/x", header: false }, { header: false }, "/in/x"],
    [
      "names deeper inside",
      { properties: { appendPath: "/x", header: { a: "b" } } },
      { properties: { appendPath: "/x", header: { a: "b" } } },
      "/in",
    ],
    [
      "integrations",
      { integrations: { All: true, Webhook: { appendPath: "/i" } } },
      { integrations: { All: true, Webhook: { appendPath: "/i" } } },
      "/in/i",
    ],
    [
      "both",
      { appendPath: "/e", integrations: { WEBHOOK: { appendPath: "/i" } } },
      { integrations: { WEBHOOK: { appendPath: "/i" } } },
      "/in/e",
    ],
  ])("%s", async (_, given, left, target) => {
    expect(await deliver([{ ...event, ...given }])).toEqual({ kind: "delivered" });
    expect([last().target, body()]).toEqual([target, { ...event, ...left }]);
  });

  test("numbers that JavaScript cannot hold stay as they are written", async () => {
    const text = '{"header":{"a":"b"},"n":12345678901234567890,"x":1.50}';
    expect(await deliver([Buffer.from(text)])).toEqual({ kind: "delivered" });
    expect(last().body.toString()).toBe('{"n":12345678901234567890,"x":1.50}');
  });

  test("may have a full URL that begins with the configured one", async () => {
    const url = `${receiver.url}/in/full?a=b`;
    expect(await deliver([{ ...event, fullPath: url, appendPath: "&c=d" }])).toEqual({
      kind: "delivered",
    });
    expect([last().target, body()]).toEqual(["/in/full?a=b&c=d", event]);
    const elsewhere = await deliver([{ ...event, fullPath: "http://127.0.0.1:1/in" }]);
    expect(elsewhere).toEqual({
      kind: "rejected",
      reason: "Expected fullPath to give a URL that begins with the destination's webhookUrl",
    });
  });

  test("ignores overrides that a client sent", async () => {
    const sent = {
      ...event,
      appendPath: "/../admin",
      header: { Authorization: "x" },
      fullPath: "/",
    };
    expect(await deliver([sent], {}, false)).toEqual({ kind: "delivered" });
    expect([last().target, body()]).toEqual(["/in", sent]);
    expect(last().headers).not.toHaveProperty("authorization");
  });

  test("GET has the path, the headers and the properties", async () => {
    const shaped = { ...event, appendPath: "/x?y=z", header: { "X-A": "b" } };
    expect(await deliver([shaped], { webhookMethod: "GET" })).toEqual({ kind: "delivered" });
    expect([last().method, last().target, last().headers["x-a"]]).toEqual([
      "GET",
      "/in/x?y=z&a=1",
      "b",
    ]);
  });

  const many = Object.fromEntries(
    Array.from({ length: WEBHOOK_HEADERS_MAX + 1 }, (_, n) => [n, "x"]),
  );
  test.each<[object, string]>([
    [
      { header: { "webhook-signature": "v1,x" } },
      "Expected a header that the service does not set, in header",
    ],
    [{ header: { "Webhook-Id": "x" } }, "Expected a header that the service does not set"],
    [{ header: { HOST: "evil" } }, "Expected a header that the service does not set"],
    [{ header: { "Content-Length": 1 } }, "Expected a header that the service does not set"],
    [{ header: { "content-encoding": "br" } }, "Expected a header that the service does not set"],
    [
      { header: { "Transfer-Encoding": "chunked" } },
      "Expected a header that the service does not set",
    ],
    [{ header: { "a b": "c" } }, 'Expected a header name, in header "a b"'],
    [{ header: { "": "c" } }, "Expected a header name"],
    [{ header: { ["__proto__"]: "c" } }, "Expected a header name"],
    [{ header: { __PROTO__: "c" } }, "Expected a header name"],
    [{ header: { "x\r\nHost": "evil" } }, "Expected a header name"],
    [{ header: { a: "b\r\nEvil: 1" } }, 'Expected printable ASCII characters, in header "a"'],
    [{ header: { a: "ü" } }, "Expected printable ASCII characters"],
    [
      { header: { a: "x".repeat(WEBHOOK_HEADER_VALUE_CHARS_MAX + 1) } },
      "Expected at most 4096 characters",
    ],
    [{ header: { ["x".repeat(200)]: "x" } }, "Expected a header name of at most 128 characters"],
    [{ header: many }, `Expected header with at most ${WEBHOOK_HEADERS_MAX} names, got 51`],
    [{ appendPath: "/../x" }, "Expected appendPath without segments . and .."],
  ])("%j is a dead letter", async (given, reason) => {
    const verdict = await deliver([{ ...event, ...given }]);
    expect(verdict).toEqual({ kind: "rejected", reason: expect.stringContaining(reason) });
    expect(receiver.got).toEqual([]);
  });

  test("is a single request that replaces no reserved header, whatever headers user code sets", async () => {
    const name = fc.oneof(
      fc.string({ maxLength: 6 }),
      fc.constantFrom("Host", "content-length", "Connection", "webhook-id", "X\r\nA", "x:", " a"),
    );
    const value = fc.oneof(
      fc.string({ unit: "binary", maxLength: 8 }),
      fc.constantFrom("a\r\nEvil: 1", "\n", "chunked", "b\0", "\u2028"),
      fc.jsonValue({ maxDepth: 1 }),
    );
    const property = fc.asyncProperty(
      fc.dictionary(name, value, { maxKeys: 4 }),
      async (header) => {
        const before = receiver.got.length;
        const { kind } = await deliver([{ header, n: 1 }]);
        expect(receiver.got.length - before).toBe(kind === "delivered" ? 1 : 0);
        if (kind !== "delivered") return;
        expect(last().headers).not.toHaveProperty("evil");
        expect(last().headers.host).toBe(new URL(receiver.url).host);
        expect(last().headers).not.toHaveProperty("webhook-id");
        expect(body()).toEqual({ n: 1 });
      },
    );
    await fc.assert(property, { numRuns: 300 });
  });

  test("is not shared by events with different overrides", () => {
    const key = (value: unknown) => receiver.kind.batchKey!(made(value));
    const a = { appendPath: "/a", header: { x: "y" } };
    expect(key({ n: 1 })).toBe(key({ n: 2, properties: { appendPath: "/a" } }));
    expect(key({ ...a, n: 1 })).toBe(key({ ...a, n: 2 }));
    const others = [
      {},
      a,
      { ...a, appendPath: "/b" },
      { ...a, header: { x: "z" } },
      { appendPath: "/a" },
    ];
    const wrong = [{ header: { host: "a" } }];
    expect(new Set([...others, ...wrong].map(key)).size).toBe(6);
    expect(receiver.kind.batchKey!(outgoing(a))).toBe(key({}));
  });
});

describe("gzip", () => {
  const secret = `whsec_${Buffer.alloc(32, 5).toString("base64")}`;

  test.each([
    ["a small body", 10],
    ["a large body", 300_000],
  ])("%s arrives compressed, and its signature is of what it says", async (_, length) => {
    const event = { text: "x".repeat(length) };
    expect(await deliver([event], { gzip: true, secret })).toEqual({ kind: "delivered" });
    expect(last().headers["content-encoding"]).toBe("gzip");
    expect(last().headers["content-length"]).toBe(String(last().body.length));
    const plain = gunzipSync(last().body);
    if (length > 1_000) expect(last().body.length).toBeLessThan(plain.length / 100);
    // A receiver decompresses in its framework, then verifies and parses with the library.
    expect(new Webhook(secret).verify(plain.toString(), last().headers)).toEqual(event);
    const torn = { ...last().headers, "webhook-id": "msg_other" };
    expect(() => new Webhook(secret).verify(plain.toString(), torn)).toThrow();
  });

  test("without gzip the signature covers the body as well", async () => {
    await deliver([{ n: "ä€🙂" }], { secret });
    expect(new Webhook(secret).verify(last().body.toString(), last().headers)).toEqual({
      n: "ä€🙂",
    });
    expect(last().headers).not.toHaveProperty("content-encoding");
  });
});

describe("templates", () => {
  const template = '{"name": "{{event.event}}", "price": {{event.properties.price}}, "fixed": [1]}';
  const batchTemplate = '{"source": "pixelmill", "events": {{events}}}';
  const events = [
    { event: 'A "b"', properties: { price: 9.5 } },
    { event: "C", properties: {} },
  ];
  const rendered = [
    { name: 'A "b"', price: 9.5, fixed: [1] },
    { name: "C", price: null, fixed: [1] },
  ];

  test("make the body of one event", async () => {
    expect(await deliver([events[0]], { template })).toEqual({ kind: "delivered" });
    expect(body()).toEqual(rendered[0]);
    expect(last().headers["content-type"]).toBe("application/json");
  });

  test("make the items of a list, and the text around the list", async () => {
    expect(await deliver(events, { template, batchSize: 10 })).toEqual({ kind: "delivered" });
    expect(body()).toEqual(rendered);
    await deliver(events, { template, batchTemplate, batchSize: 10 });
    expect(body()).toEqual({ source: "pixelmill", events: rendered });
    await deliver(events, { batchTemplate, batchSize: 10 });
    expect(body()).toEqual({ source: "pixelmill", events });
    await deliver([events[0]], { batchTemplate });
    expect(body()).toEqual({ source: "pixelmill", events: [events[0]] });
  });

  test("make bodies that are signed and compressed, without the overrides of the request", async () => {
    const secret = "any text";
    const all = '{"all": {{event}}, "path": "{{event.appendPath}}"}';
    const over = { template: all, secret, gzip: true };
    expect(await deliver([{ n: 1, appendPath: "/x" }], over)).toEqual({ kind: "delivered" });
    const plain = gunzipSync(last().body).toString();
    expect(last().target).toBe("/in/x");
    const verified = new Webhook(secret, { format: "raw" }).verify(plain, last().headers);
    expect(verified).toEqual({ all: { n: 1 }, path: "" });
  });

  test("the same events have the same id whatever their template, and other events another", async () => {
    const one = outgoing({ event: "A" });
    const open = (over: object) => receiver.kind.open({ webhookUrl: receiver.url, ...over }, "w");
    const same = '{"a": 1}';
    await open({ secret: "s" }).deliver([one], signal);
    await open({ template: same }).deliver([one], signal);
    await open({ template: same, gzip: true, secret: "s" }).deliver([one], signal);
    await open({ template: same }).deliver([outgoing({ event: "A" })], signal);
    const ids = receiver.got.map(({ headers }) => headers["webhook-id"]);
    expect(ids[0]).toContain(one.input.messageId);
    expect(new Set(ids.slice(0, 3)).size).toBe(1);
    expect(ids[3]).not.toBe(ids[0]);
    // User code has made two events of one, which differ in their paths only.
    for (const appendPath of ["/a", "/b"]) {
      await open({ secret: "s" }).deliver([outgoing({ appendPath }, one.input, true)], signal);
    }
    expect(receiver.got.at(-1)!.headers["webhook-id"]).not.toBe(
      receiver.got.at(-2)!.headers["webhook-id"],
    );
  });

  test("a body that is too long is a dead letter", async () => {
    const places = Array(100).fill("{{event.text}}").join(",");
    const verdict = await deliver([{ text: "x".repeat(100_000) }], { template: `[${places}]` });
    expect(verdict).toEqual({
      kind: "rejected",
      reason: "Expected events that make a body of at most 8388608 bytes",
    });
  });
});
