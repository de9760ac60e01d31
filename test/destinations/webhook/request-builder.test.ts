import { describe, expect, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import { BodyBuffers } from "../../../src/destinations/webhook/body-buffers.ts";
import {
  sendsQuery,
  type WebhookConfig,
  webhookFaults,
} from "../../../src/destinations/webhook/config.ts";
import {
  headerNameFault,
  headerValueFault,
  isSecretHeader,
} from "../../../src/destinations/webhook/headers.ts";
import {
  WEBHOOK_ANSWER_BYTES_MAX,
  WEBHOOK_BODY_BYTES_MAX,
  WEBHOOK_HEADER_NAME_CHARS_MAX,
  WEBHOOK_HEADER_VALUE_CHARS_MAX,
  WEBHOOK_HEADERS_MAX,
  WEBHOOK_TEMPLATE_LEVELS_MAX,
  WEBHOOK_TEMPLATE_PLACES_MAX,
} from "../../../src/destinations/webhook/limits.ts";
import { requestBuilder } from "../../../src/destinations/webhook/request.ts";
import {
  bodyBuilder,
  compressBody,
  sendsList,
} from "../../../src/destinations/webhook/request-body.ts";
import { signingKey } from "../../../src/destinations/webhook/signature.ts";
import {
  parseTemplate,
  parseTemplatePath,
  render,
} from "../../../src/destinations/webhook/template.ts";
import { type EgressRequest, reservedHeaders } from "../../../src/egress/egress.ts";
import { REQUEST_HEAD_ROOM_BYTES } from "../../../src/egress/http-client.ts";
import { outgoing } from "../outgoing.ts";

const { signal } = new AbortController();
const webhookUrl = "https://h.test/in";
const event = (value: object, byCode = false) => outgoing(value, { messageId: "m" }, byCode);
const built = async (config: object, ...events: ReturnType<typeof event>[]) => {
  const requestOf = requestBuilder({ webhookUrl, ...config } as WebhookConfig, "w");
  return await requestOf(events, signal);
};
const textOf = ({ body }: Pick<EgressRequest, "body">) => Buffer.from(body).toString();

describe("a request", () => {
  test("is a POST of one event by default, with the limits of a webhook", async () => {
    const { body, ...request } = await built({}, event({ n: 1 }));
    expect(request).toEqual({
      ...{ workspaceId: "w", url: webhookUrl, urlWithoutEvent: webhookUrl, signal },
      ...{ method: "POST", timeoutMs: 10_000 },
      headers: { "content-type": "application/json", "user-agent": "pixelmill" },
      ...{ hasHeadRoom: false, answerBytesMax: WEBHOOK_ANSWER_BYTES_MAX, isRepeatable: true },
    });
    expect(textOf({ body })).toBe('{"n":1}');
  });

  test("has the method, the timeout and the headers of its config", async () => {
    const headers = [
      { from: "X-Team", to: "a" },
      { from: "Content-Type", to: "text/plain" },
      { from: "User-Agent", to: "mine" },
    ];
    const config = { webhookMethod: "PUT", timeoutMs: 7, headers };
    expect(await built(config, event({}))).toMatchObject({
      ...{ method: "PUT", timeoutMs: 7 },
      headers: { "x-team": "a", "content-type": "text/plain", "user-agent": "mine" },
    });
  });

  test("is a list where batches may be larger than one, or have a template", async () => {
    const [one, two] = [event({ n: 1 }), event({ n: 2 })];
    expect(textOf(await built({ batchSize: 2 }, one, two))).toBe('[{"n":1},{"n":2}]');
    expect(textOf(await built({ batchSize: 2 }, one))).toBe('[{"n":1}]');
    expect(textOf(await built({ batchSize: 1 }, one))).toBe('{"n":1}');
    const batchTemplate = '{"all": {{events}}}';
    expect(textOf(await built({ batchTemplate }, one))).toBe('{"all": [{"n":1}]}');
    const configs = [{}, { batchSize: 1 }, { batchSize: 2 }, { batchTemplate }];
    expect(configs.map((it) => sendsList({ webhookUrl, ...it }))).toEqual([
      ...[false, false, true, true],
    ]);
  });

  test("uses a buffer of the pool for a list that is sent as it is, and for no other body", async () => {
    for (const [config, hasHeadRoom] of [
      [{ batchSize: 2 }, true],
      [{}, false],
      [{ batchSize: 2, gzip: true }, false],
      [{ batchSize: 2, template: "{{event}}" }, false],
      [{ batchTemplate: "{{events}}" }, false],
    ] as const) {
      const given = { webhookUrl, ...config } as WebhookConfig;
      const pooled = requestBuilder(given, "w", new BodyBuffers());
      const request = await pooled([event({})], signal);
      expect([config, request.hasHeadRoom]).toEqual([config, hasHeadRoom]);
      if (hasHeadRoom) expect(request.body.byteOffset).toBe(REQUEST_HEAD_ROOM_BYTES);
    }
    expect((await built({ batchSize: 2 }, event({}))).hasHeadRoom).toBe(false);
  });

  test("has an id where the receiver finds none in its body, or checks its signature", async () => {
    for (const [config, id] of [
      [{}, undefined],
      [{ batchSize: 2 }, undefined],
      [{ secret: "s" }, "msg_m"],
      [{ template: "{{event}}" }, "msg_m"],
      [{ batchTemplate: "{{events}}" }, "msg_m"],
      [{ webhookMethod: "GET" }, "msg_m"],
      [{ webhookMethod: "DELETE" }, "msg_m"],
    ] as const) {
      const { headers } = await built(config, event({}));
      expect([config, headers["webhook-id"]]).toEqual([config, id as string]);
      const isSigned = "secret" in config;
      expect([config, "webhook-signature" in headers]).toEqual([config, isSigned]);
    }
    const { headers } = await built({}, event({ header: { a: "b" } }, true));
    expect(headers).toEqual({
      ...{ "content-type": "application/json", "user-agent": "pixelmill", a: "b" },
    });
  });

  test("is compressed where the config says so, and says that it is", async () => {
    const { headers, body } = await built({ gzip: true }, event({ n: 1 }));
    expect(headers["content-encoding"]).toBe("gzip");
    expect(gunzipSync(body).toString()).toBe('{"n":1}');
  });

  test("without a body has the properties of its event in the query", async () => {
    for (const webhookMethod of ["GET", "DELETE"] as const) {
      const request = await built({ webhookMethod }, event({ properties: { a: 1 } }));
      expect([request.method, request.url, request.body.length]).toEqual([
        ...[webhookMethod, `${webhookUrl}?a=1`, 0],
      ]);
      expect(request.headers).not.toHaveProperty("content-type");
      expect(sendsQuery({ webhookUrl, webhookMethod })).toBe(true);
    }
    expect(sendsQuery({ webhookUrl })).toBe(false);
    expect(sendsQuery({ webhookUrl, webhookMethod: "PATCH" })).toBe(false);
  });

  test("may be overridden by code, except for the authorization of OAuth", async () => {
    const made = (value: object) => event(value, true);
    const events = [made({ n: 1, appendPath: "/a" }), made({ n: 2, appendPath: "/a" })];
    const request = await built({ batchSize: 2 }, ...events);
    expect([request.url, textOf(request)]).toEqual([`${webhookUrl}/a`, '[{"n":1},{"n":2}]']);
    const oauth = { tokenUrl: "https://t.test", clientId: "i", clientSecret: "s" };
    const header = { header: { Authorization: "x" } };
    await expect(built({ oauth }, made(header))).rejects.toThrow(
      "Expected no header authorization",
    );
    expect((await built({}, made(header))).headers.authorization).toBe("x");
    const other = await built({ oauth }, made({ header: { a: "b" } }));
    expect(other.headers).toMatchObject({ a: "b" });
  });
});

test("a body is compressed on this thread up to 64 KiB, and on another one above", async () => {
  for (const [length, isAway] of [
    [64 << 10, false],
    [(64 << 10) + 1, true],
  ] as const) {
    const body = Buffer.alloc(length, "ab");
    const compressed = compressBody(body);
    expect([length, compressed instanceof Promise]).toEqual([length, isAway]);
    expect(gunzipSync(await compressed).equals(body)).toBe(true);
  }
});

test("the bodies that templates make are bounded, one by one and all together", () => {
  const bodies = bodyBuilder({ webhookUrl, batchSize: 9, template: '"{{event}}"' });
  const text = (length: number) => Buffer.from(`"${"x".repeat(length - 2)}"`);
  const rendered = (...lengths: number[]) =>
    bodies.render(lengths.map(text), Buffer.alloc(0)).length;
  const half = WEBHOOK_BODY_BYTES_MAX / 2;
  const brackets = 3;
  expect(rendered(half, half)).toBe(WEBHOOK_BODY_BYTES_MAX + brackets);
  const message = "Expected events that make a body of at most";
  expect(() => rendered(half, half + 1)).toThrow(message);
  const wide = Buffer.from(`"${"é".repeat(half)}"`);
  expect(() => bodies.render([wide], Buffer.alloc(0))).toThrow(message);
});

test.each([
  ["event", []],
  ["event.a", ["a"]],
  ["event.a-b.$c._d.é", ["a-b", "$c", "_d", "é"]],
  ["event.0.12", ["0", "12"]],
  ["event[0][12].a", ["0", "12", "a"]],
  ["event['a b']['']", ["a b", ""]],
  ["user.a", undefined],
  ["eventa", undefined],
  ["event.", undefined],
  ["event.-a", undefined],
  ["event.1a", undefined],
  ["event[a]", undefined],
  ['event["a"]', undefined],
  ["event['a'b']", undefined],
  ["event['a\\n']", undefined],
  ["event.a b", undefined],
  ["event[0", undefined],
])("the path %s of a template has these keys: %j", (text, keys) => {
  expect(parseTemplatePath(text, "event")).toEqual(keys as string[]);
});

test("a template has a bounded number of places, and of levels in each", () => {
  const places = (count: number) => `[${Array(count).fill("{{event}}").join()}]`;
  const levels = (count: number) => `{{event${".a".repeat(count)}}}`;
  const { placeholders } = parseTemplate(places(WEBHOOK_TEMPLATE_PLACES_MAX), "event");
  expect(placeholders).toHaveLength(WEBHOOK_TEMPLATE_PLACES_MAX);
  expect(() => parseTemplate(places(WEBHOOK_TEMPLATE_PLACES_MAX + 1), "event")).toThrow(
    `Expected at most ${WEBHOOK_TEMPLATE_PLACES_MAX} places in a template, got 201`,
  );
  expect(parseTemplate(levels(WEBHOOK_TEMPLATE_LEVELS_MAX), "event").placeholders).toHaveLength(1);
  expect(() => parseTemplate(levels(WEBHOOK_TEMPLATE_LEVELS_MAX + 1), "event")).toThrow("levels");
});

test("a template's text is bounded with its values", () => {
  const template = parseTemplate('"{{event}}"', "event");
  const made = (length: number) => render(template, `"${"x".repeat(length)}"`).length;
  expect(made(WEBHOOK_BODY_BYTES_MAX - 2)).toBe(WEBHOOK_BODY_BYTES_MAX);
  expect(() => made(WEBHOOK_BODY_BYTES_MAX - 1)).toThrow("Expected events that make a body");
});

test.each([
  ['"{{event.a}}{{event.b}}"', '"12"'],
  ['"{{event.a}}" ', '"1" '],
  ['["\\"{{event.a}}", {{event.b}}]', '["\\"1", 2]'],
  ['["\\\\", {{event.b}}, "{{event.c}}"]', '["\\\\", 2, "{\\"d\\":3}"]'],
  ['["{{event.e}}", {{event.e}}]', '["[1,\\"x\\"]", [1,"x"]]'],
  ['["{{event.f}}", "{{event.g}}", {{event.g}}]', '["", "true", true]'],
])("the template %s is filled at each of its places", (template, body) => {
  const json = '{"a":1,"b":2,"c":{"d":3},"e":[1,"x"],"f":null,"g":true}';
  expect(render(parseTemplate(template, "event"), json)).toBe(body);
});

test("a fault of a template says where it is", () => {
  const fault = (template: string) => {
    try {
      parseTemplate(template, "event");
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  };
  expect(fault('{\n "a": {{event.b}}, "c": "{{x}}"}')).toBe(
    'Expected a path such as event or event.name between {{ and }}, got "x" at line 2, column 26',
  );
  expect(fault(`[{{${"x".repeat(65)}}}]`)).toContain(`got "${"x".repeat(64)}" at line 1, column 2`);
  expect(fault('["a", {{event.b]')).toBe("Expected }} after {{ at line 1, column 7");
});

test.each([
  ["X-Team", undefined],
  ["!#$%&'*+.^_`|~0-9aZ", undefined],
  ["x".repeat(WEBHOOK_HEADER_NAME_CHARS_MAX), undefined],
  [
    "x".repeat(WEBHOOK_HEADER_NAME_CHARS_MAX + 1),
    "Expected a header name of at most 128 characters",
  ],
  ["", "Expected a header name"],
  ["a b", "Expected a header name"],
  ["a:", "Expected a header name"],
  ["é", "Expected a header name"],
  ["__proto__", "Expected a header name"],
  ["__Proto__", "Expected a header name"],
  ["__proto__x", undefined],
  ...["webhook-id", "Webhook-Timestamp", "WEBHOOK-SIGNATURE", "content-encoding"].map(
    (name): [string, string] => [name, "Expected a header that the service does not set"],
  ),
  ...[...reservedHeaders].map((name): [string, string] => {
    return [name, "Expected a header that the service does not set"];
  }),
])("a header of the name %s is allowed or has the fault %p", (name, fault) => {
  expect(headerNameFault(name)).toBe(fault as string);
});

test("a header value has a bounded number of visible ASCII characters, spaces and tabs", () => {
  const most = "x".repeat(WEBHOOK_HEADER_VALUE_CHARS_MAX);
  for (const value of ["", " a~", "\ta", most]) expect(headerValueFault(value)).toBeUndefined();
  for (const value of ["\n", "\x1f", "\x7f", "é"]) {
    expect(headerValueFault(value)).toBe("Expected printable ASCII characters");
  }
  expect(headerValueFault(`${most}x`)).toBe("Expected at most 4096 characters");
});

test.each([
  [{ from: "Authorization" }, true],
  [{ from: "proxy-authorization" }, true],
  [{ from: "COOKIE" }, true],
  [{ from: "X-Api-Key" }, true],
  [{ from: "x-authorization" }, false],
  [{ from: "cookies" }, false],
  [{ from: "X-Team" }, false],
  [{ from: "X-Team", secret: true }, true],
  [{ from: "X-Api-Key", secret: false }, false],
  [{ from: "X-Api-Key", secret: "no" }, true],
  [{}, false],
])("the header %j is secret: %p", (header, isSecret) => {
  expect(isSecretHeader(header)).toBe(isSecret);
});

const token = { tokenUrl: "https://t.test", clientId: "i", clientSecret: "s" };
const header = (from: string, to = "x") => ({ from, to });
test.each([
  [{}, []],
  [{ webhookUrl: "ftp://h.test" }, ["/webhookUrl"]],
  [
    { headers: [header("a"), header("b c"), header("d", "\n")] },
    ["/headers/1/from", "/headers/2/to"],
  ],
  [{ headers: Array(WEBHOOK_HEADERS_MAX + 1).fill(header("a")) }, ["/headers"]],
  [{ headers: [header("a"), header("AUTHORIZATION")], oauth: token }, ["/headers/1/from"]],
  [{ headers: [header("authorization")] }, []],
  [{ oauth: { ...token, tokenUrl: "t.test" } }, ["/oauth/tokenUrl"]],
  [{ oauth: { ...token, scope: "" } }, ["/oauth/scope"]],
  [{ secret: "whsec_x" }, ["/secret"]],
  [{ secret: "text" }, []],
  [{ template: "{{event.a}}", batchTemplate: "[{{events}}]" }, []],
  [{ template: "{{events}}" }, ["/template"]],
  [{ batchTemplate: "{{event}}" }, ["/batchTemplate"]],
  [{ batchTemplate: "[{{events.0}}]" }, ["/batchTemplate"]],
  [{ batchTemplate: "[{{events.0}}, {{events}}]" }, []],
  [{ webhookMethod: "GET", gzip: true, secret: "s" }, ["/secret", "/gzip"]],
  [{ webhookMethod: "GET", gzip: false, batchSize: 1 }, []],
  [{ webhookMethod: "HEAD" }, ["/webhookMethod"]],
] as [object, string[]][])(
  "a config of a webhook has its faults, each at its setting: %#",
  (config, paths) => {
    const found = webhookFaults({ webhookUrl, ...config }).map(({ path }) => path);
    expect(found).toEqual(paths);
  },
);

test("a secret that looks like a key of Standard Webhooks must be one", () => {
  const base64 = (bytes: number) => `whsec_${Buffer.alloc(bytes, 255).toString("base64")}`;
  const lengths = [23, 24, 64, 65].map((bytes) => signingKey(base64(bytes))?.length);
  expect(lengths).toEqual([undefined, 24, 64, undefined]);
  expect(signingKey(base64(25).replaceAll("=", ""))).toHaveLength(25);
  expect(signingKey(`${base64(24)}!`)).toBeUndefined();
  expect(Buffer.from(signingKey("whse")!).toString()).toBe("whse");
});
