import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { inspectQuery } from "../../../src/event/inspect.ts";
import { type BodyProblem, type SdkBody, scanBody } from "../../../src/event/sdk/body.ts";
import { eventAt } from "../../../src/event/sdk/event-facts.ts";
import {
  SDK_BATCH_EVENTS_BYTES_MAX,
  SDK_BATCH_EVENTS_MAX,
  SDK_EVENT_BYTES_MAX,
  SDK_EVENT_LEVELS_MAX,
  SDK_MESSAGE_ID_BYTES_MAX,
} from "../../../src/settings/limits.ts";
import { runs } from "../../tier.ts";
import { jsonTestSuite } from "./json-test-suite.ts";
import { batch, damaged, event, value } from "./json-texts.ts";
import { referenceBody, scannedBody } from "./reference.ts";

const notJson = { status: 400, problem: "Expected a body that is valid JSON" } as const;

function scan(body: string | Buffer, isBatch = false): SdkBody | BodyProblem {
  return scanBody(Buffer.from(body as string), isBatch);
}

function scanned(body: string | Buffer, isBatch = true): SdkBody {
  const found = scan(body, isBatch);
  if ("problem" in found) throw new Error(found.problem);
  return found;
}

/** Facts of all events of a body, as copies. */
function factsOf(body: string | Buffer, isBatch = true) {
  return Array.from({ length: scanned(body, isBatch).events }, (_, index) => ({
    ...eventAt(index),
  }));
}

const problemsOf = (body: string, isBatch = true) =>
  factsOf(body, isBatch).map(({ problem }) => problem);

/** Compares the scanner with the reference. */
function checkAgreement(body: Buffer, isBatch: boolean): void {
  const found = scan(body, isBatch);
  const seen = "problem" in found ? { status: found.status } : scannedBody(found, isBatch);
  expect(seen as unknown).toEqual(referenceBody(body, isBatch));
}

/** Where the text of a case stands in a body. */
const frames = [
  ["", ""],
  ['{"batch":[', "]}"],
  ['{"batch":[{"userId":1,"context":', "}]}"],
  ['{"batch":[],"a":', "}"],
] as const;

describe("the JSON test suite:", () => {
  test.each(Object.entries(jsonTestSuite))("%s", (name, text) => {
    const body = Buffer.from(text, "latin1");
    const isAccepted = !("problem" in scan(body));
    if (name.startsWith("y_")) expect(isAccepted).toBe(true);
    if (name.startsWith("n_")) expect(isAccepted).toBe(false);
    for (const [before, after] of frames) {
      const framed = Buffer.concat([Buffer.from(before), body, Buffer.from(after)]);
      for (const isBatch of [false, true]) checkAgreement(framed, isBatch);
    }
  });
});

describe("the scan agrees with JSON.parse about", () => {
  const check = (texts: fc.Arbitrary<string>, isBatch: boolean) =>
    fc.assert(
      fc.property(damaged(texts), (body) => checkAgreement(body, isBatch)),
      { numRuns: runs(1_000, 10_000) },
    );

  test("any batch, whole or damaged", () => check(batch, true));
  test("any single event, whole or damaged", () => check(event, false));
  test("any JSON, whole or damaged", () => check(value, false));
  test("bytes of any kind", () => {
    const bytes = fc.uint8Array({ maxLength: 12 }).map((it) => Buffer.from(it));
    const json = fc.array(fc.constantFrom(...'{}[]",:\\u0ae-+.1 tn\n'), { maxLength: 12 });
    const any = fc.oneof(
      bytes,
      json.map((it) => Buffer.from(it.join(""))),
    );
    fc.assert(
      fc.property(any, fc.boolean(), (body, isBatch) => checkAgreement(body, isBatch)),
      { numRuns: runs(2_000, 20_000) },
    );
  });
});

describe("an event of a batch is refused alone:", () => {
  const good = '{"type":"track","userId":"u"}';
  const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
  const eventOf = (member: string) => `{"type":"track","userId":"u",${member}}`;

  test.each([
    ["a number", "7", "Expected the event to be a JSON object"],
    ["a list", "[]", "Expected the event to be a JSON object"],
    ["no id", '{"type":"track"}', "Request neither has anonymousId nor userId"],
    ["blank ids", '{"type":"track","userId":" ","anonymousId":""}', "Request neither has"],
    ["an id that is an object", '{"type":"track","userId":{}}', "Request neither has"],
    ["an id that is null", '{"type":"track","userId":null}', "Request neither has"],
    ["an id that a later null replaces", '{"type":"page","userId":"u","userId":null}', "Request"],
    ["no type", '{"userId":"u"}', "Expected an event type, one of page, track, identify"],
    ["an unknown type", '{"userId":"u","type":"merge"}', "Expected an event type"],
    ["a type that is a number", '{"userId":"u","type":1}', "Expected an event type"],
    [
      "too many levels",
      eventOf(`"a":${deep(SDK_EVENT_LEVELS_MAX)}`),
      `Expected an event with at most ${SDK_EVENT_LEVELS_MAX} levels`,
    ],
    [
      "a thousand levels of objects and lists",
      eventOf(`"a":${'[{"a":'.repeat(500)}1${"}]".repeat(500)}`),
      `Expected an event with at most ${SDK_EVENT_LEVELS_MAX} levels`,
    ],
    [
      "a million levels",
      eventOf(`"a":${"[".repeat(1_000_000)}${"]".repeat(1_000_000)}`),
      `Expected an event with at most ${SDK_EVENT_LEVELS_MAX} levels`,
    ],
    [
      "too many bytes",
      eventOf(`"a":"${"x".repeat(SDK_EVENT_BYTES_MAX)}"`),
      `Expected an event of at most ${SDK_EVENT_BYTES_MAX} bytes`,
    ],
    [
      "a number of a million digits",
      eventOf(`"a":${"9".repeat(1_000_000)}`),
      "Expected an event of",
    ],
  ])("%s", (_, bad, problem) => {
    const [before, refused, after] = problemsOf(`{"batch":[${good},${bad},${good}]}`);
    expect(refused).toStartWith(problem);
    expect([before, after]).toEqual([undefined, undefined]);
  });

  test("one level and one byte less are accepted", () => {
    const deepest = eventOf(`"a":${deep(SDK_EVENT_LEVELS_MAX - 1)}`);
    const rest = eventOf('"a":""').length;
    const largest = eventOf(`"a":"${"x".repeat(SDK_EVENT_BYTES_MAX - rest)}"`);
    expect(problemsOf(`{"batch":[${deepest},${largest}]}`)).toEqual([undefined, undefined]);
  });
});

describe("a body is refused as a whole:", () => {
  const noBatch = 'Expected a JSON object with an array "batch" of events';
  test.each([
    ["no bytes", "", notJson.problem],
    ["a byte order mark", '\ufeff{"batch":[]}', notJson.problem],
    ["bytes after the JSON", '{"batch":[]}x', notJson.problem],
    ["a second object", '{"batch":[]}{}', notJson.problem],
    ["half a batch", '{"batch":[{"userId":1}', notJson.problem],
    ["a batch with a comma at its end", '{"batch":[{"userId":1},]}', notJson.problem],
    ["a line break in a string", '{"batch":[{"userId":"a\nb"}]}', notJson.problem],
    ["a nesting bomb", `{"batch":${"[".repeat(1_000_000)}`, notJson.problem],
    ["a nesting bomb of objects", `{"batch":[${'{"a":'.repeat(200_000)}`, notJson.problem],
    ["no batch", "{}", noBatch],
    ["a list", "[]", noBatch],
    ["a string", '"batch"', noBatch],
    ["a batch that is an object", '{"batch":{}}', noBatch],
    ["a batch that a later member replaces", '{"batch":[{"userId":1}],"batch":null}', noBatch],
    ["a batch of the prototype", '{"__proto__":{"batch":[]}}', noBatch],
  ])("%s", (_, body, problem) => {
    expect(scan(body, true)).toEqual({ status: 400, problem });
  });

  test("too many events", () => {
    const batchOf = (events: number) => `{"batch":[${"0,".repeat(events - 1)}0]}`;
    expect(scanned(batchOf(SDK_BATCH_EVENTS_MAX)).events).toBe(SDK_BATCH_EVENTS_MAX);
    expect(scan(batchOf(SDK_BATCH_EVENTS_MAX + 1), true)).toEqual({
      status: 413,
      problem: `Expected at most ${SDK_BATCH_EVENTS_MAX} events in a batch`,
    });
  });

  test("a context that its events would multiply", () => {
    const context = `{"a":"${"x".repeat(SDK_EVENT_BYTES_MAX / 2)}"}`;
    const events = Math.ceil(SDK_BATCH_EVENTS_BYTES_MAX / context.length);
    const batchOf = (event: string) =>
      `{"batch":[${Array(events).fill(event).join(",")}],"context":${context}}`;
    expect(scan(batchOf('{"type":"page","userId":1}'), true)).toMatchObject({ status: 413 });
    const own = '{"type":"page","userId":1,"context":{}}';
    expect(new Set(problemsOf(batchOf(own)))).toEqual(new Set([undefined]));
  });
});

describe("a batch's context", () => {
  test("counts as part of an event that inherits it", () => {
    const context = `{"a":"${"x".repeat(SDK_EVENT_BYTES_MAX - 20)}"}`;
    const [inherits, has, lacks] = problemsOf(
      `{"batch":[{"userId":1,"type":"page"},{"userId":1,"type":"page","context":{}},` +
        `{"userId":1,"type":"page","context":null}],"context":${context}}`,
    );
    expect(inherits).toStartWith(`Expected an event of at most ${SDK_EVENT_BYTES_MAX} bytes`);
    expect(has).toBeUndefined();
    expect(lacks).toStartWith(`Expected an event of at most ${SDK_EVENT_BYTES_MAX} bytes`);
  });

  test("and its integrations count for each event that lacks them", () => {
    const half = `{"a":"${"x".repeat(SDK_EVENT_BYTES_MAX / 2)}"}`;
    const own = '"userId":1,"type":"page"';
    const problems = problemsOf(
      `{"batch":[{${own}},{${own},"context":{}},{${own},"integrations":{}}],` +
        `"context":${half},"integrations":${half}}`,
    );
    expect(problems.map((problem) => problem === undefined)).toEqual([false, true, true]);
  });

  test("is no context when it is no object", () => {
    expect(scanned('{"batch":[],"context":"a","integrations":[]}')).toMatchObject({
      context: undefined,
      integrations: undefined,
    });
  });
});

describe("the user of an event", () => {
  const pixel = (query: string) => inspectQuery(`writeKey=k&${query}`, "page", true).user;
  test.each([
    ["a text", '"userId":"u"', "userId=u"],
    ["a text with escapes", '"userId":"\\u0075\\/\\u20ac"', "userId=u/%E2%82%AC"],
    ["quotes and backslashes", '"userId":"\\"a\\\\"', "userId=%22a%5C"],
    ["a number", '"userId":123', "userId=123"],
    ["a digit", '"userId":7', "userId=7"],
    ["zero", '"userId":0', "userId=0"],
    ["minus zero", '"userId":-0', "userId=0"],
    ["a negative number", '"userId":-12', "userId=-12"],
    ["a number in another form", '"userId":1.23e2', "userId=123"],
    ["a large number", '"userId":12345678901234567890', "userId=12345678901234567890"],
    ["a boolean", '"userId":true', "userId=true"],
    ["another boolean", '"userId":false', "userId=false"],
    ["the anonymousId where the userId is a list", '"userId":["u"],"anonymousId":"a"', "userId=a"],
    ["the anonymousId", '"anonymousId":"a","userId":" "', "anonymousId=a"],
    ["the last of several", '"userId":"x","userId":"u"', "userId=u"],
    ["a name with escapes", '"user\\u0049d":"u"', "userId=u"],
  ])("has the partition of a pixel's user: %s", (_, members, query) => {
    expect(factsOf(`{${members}}`, false)[0]!.user).toBe(pixel(query));
  });
});

describe("invalid UTF-8 is replaced in strings, and the batch is kept:", () => {
  test.each([
    ["a byte that begins nothing", [0xff]],
    ["an overlong form", [0xc0, 0xaf]],
    ["a surrogate", [0xed, 0xa0, 0x80]],
    ["a truncated sequence", [0xe2, 0x82]],
    ["a code point beyond Unicode", [0xf4, 0x90, 0x80, 0x80]],
    ["a continuation", [0x80]],
  ])("%s", (_, bytes) => {
    const before = '{"batch":[{"type":"track","userId":"a","event":"x';
    const after = '"},{"type":"track","userId":"b","event":"y"}]}';
    const body = Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]);
    const found = scanned(body);
    const events = Array.from({ length: found.events }, (_, index) => {
      const { start, end } = eventAt(index);
      return JSON.parse(found.bytes.toString("utf8", start, end));
    });
    const text = new TextDecoder().decode(Uint8Array.from(bytes));
    expect(events.map(({ event }) => event)).toEqual([`x${text}`, "y"]);
  });

  test("outside of a string it is no JSON", () => {
    expect(scan(Buffer.from('{"batch":[\xff]}', "latin1"), true)).toEqual(notJson);
  });
});

test("an event's own messageId is a text of a limited size that is not blank", () => {
  const longest = "m".repeat(SDK_MESSAGE_ID_BYTES_MAX);
  const ids = [`"${longest}"`, `"${longest}m"`, '" "', "7", "null", '"m"'];
  const events = ids.map((id) => `{"type":"page","userId":1,"messageId":${id}}`);
  expect(factsOf(`{"batch":[${events}]}`).map(({ hasMessageId }) => hasMessageId)).toEqual([
    ...[true, false, false, false, false, true],
  ]);
});

test("the scanned bytes stay as they are", () => {
  const body = Buffer.from('{\n"batch":[{"userId":"\xff"}]}', "latin1");
  const before = Buffer.from(body);
  scanBody(body, true);
  expect(body).toEqual(before);
});

test("a body that is scanned after a larger body has no bytes of the larger body", () => {
  expect(scanned(`{"batch":[${" ".repeat(1_000)}]}`).events).toBe(0);
  expect(scan('{"batch":[', true)).toEqual(notJson);
  expect(scan("1", false)).toMatchObject({ events: 1 });
  expect(scan('"a', false)).toEqual(notJson);
  expect(scan("tru", false)).toEqual(notJson);
});

test("parsing a body keeps nothing of the bodies before it, also of bodies that are no objects", () => {
  scanned('{"batch":[{"userId":1}],"writeKey":"k","sentAt":"2026-11-20","context":{}}');
  expect(scanned("7", false)).toMatchObject({ events: 1, writeKey: undefined, sentAt: undefined });
  scanned('{"userId":1,"writeKey":"k"}', false);
  expect(scanned('{"batch":[]}')).toMatchObject({ events: 0, writeKey: undefined });
  expect(scanned("[7]", false)).toMatchObject({ writeKey: undefined, context: undefined });
});
