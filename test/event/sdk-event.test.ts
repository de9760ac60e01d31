import { describe, expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { eventOf } from "../../src/event/event.ts";
import { type EventType, eventTypes, type JsonRecord } from "../../src/event/record.ts";
import { userHashOf } from "../../src/event/record-user.ts";
import { rudderId } from "../../src/event/rudder-id.ts";
import { scanBody } from "../../src/event/sdk/body.ts";
import { eventAt } from "../../src/event/sdk/event-facts.ts";
import { timeAt } from "../../src/event/sdk/iso-time.ts";
import { runs } from "../tier.ts";
import {
  canonical,
  referenceEvent,
  referenceRudderId,
  referenceUser,
  timeOf,
} from "./sdk-reference.ts";

const receivedAt = Date.UTC(2026, 10, 20, 7, 31, 5, 123);

function recordOf(json: string, over: Partial<JsonRecord> = {}): JsonRecord {
  return {
    ...{ format: "json", type: "track", receivedAt, sourceId: "source", clientAddress: "" },
    ...{ messageId: undefined, sentAt: undefined, json: Uint8Array.from(Buffer.from(json)) },
    ...over,
  };
}

function built(json: string, over: Partial<JsonRecord> = {}) {
  const event = eventOf(recordOf(json, over));
  return { ...event, json: JSON.parse(Buffer.from(event.json).toString()) };
}

const space = fc.constantFrom("", "", "", " ", "\n", "\t ", "\r\n");
const time = fc.oneof(
  fc.constantFrom(
    ...[
      "2026-11-20T07:31:05.123Z",
      "2026-11-20T08:31:05+01:00",
      "2026-02-29T00:00:00Z",
      "2026-11-20",
    ],
    ...[
      "2026-11-20 07:31",
      "0000-01-01T00:00:00+01:00",
      "9999-12-31T23:59:59Z",
      "1969-12-31T23:59Z",
    ],
    ...["2026-11-20T07:31:05.123456789Z", "yesterday", "2026-11-20T24:00:00Z", "2024-02-29T1:00Z"],
  ),
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
);
const stringText = fc.oneof(
  fc.constantFrom(
    ...['""', '"a"', '" "', '"\\u0061"', '"\\ud800"', '"é"', '"\\"\\\\"', '"{\\n}"', '"a:b,"'],
  ),
  time.map((text) => JSON.stringify(text)),
  fc.string({ unit: "grapheme" }).map((text) => JSON.stringify(text)),
);
const scalarText = fc.oneof(
  stringText,
  fc.constantFrom("0", "-1.5e3", "1.0", "12345678901234567890", "true", "false", "null"),
);
const names = [
  ...["type", "messageId", "userId", "anonymousId", "event", "writeKey", "receivedAt", "traits"],
  ...["originalTimestamp", "sentAt", "timestamp", "request_ip", "context", "integrations"],
  ...["properties", "ip", "consentManagement", "deniedConsentIds", "All", "__proto__", "a", "é"],
  ...["\\u0069p", "\\u0063ontext", "writeKe\\u0079", "rudderId", ""],
];
const { value: valueText, object: objectText } = fc.letrec<{ value: string; object: string }>(
  (tie) => ({
    value: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      scalarText,
      tie("object"),
      fc.array(tie("value"), { maxLength: 3 }).map((all) => `[${all.join(" ,")}]`),
    ),
    object: fc
      .array(fc.tuple(space, fc.constantFrom(...names), space, tie("value"), space), {
        maxLength: 6,
      })
      .map((members) => {
        const texts = members.map(([a, name, b, value, c]) => `${a}"${name}"${b}:${a}${value}${c}`);
        return `{${texts.join(",")}}`;
      }),
  }),
);
/** An event with members where they belong, and some that do not. */
const eventText = fc
  .tuple(
    fc.record(
      {
        messageId: fc.constantFrom('"m-1"', '"a\\u0062"', '"ü"'),
        context: fc.oneof(objectText, valueText),
        integrations: fc.oneof(objectText, fc.constant('{"All":true}'), valueText),
        userId: scalarText,
        anonymousId: scalarText,
        timestamp: scalarText,
        sentAt: scalarText,
        originalTimestamp: scalarText,
        properties: objectText,
        event: scalarText,
      },
      { requiredKeys: ["messageId"] },
    ),
    fc.array(fc.tuple(fc.constantFrom(...names), valueText), { maxLength: 2 }),
    space,
  )
  .map(([known, others, gap]) => {
    const all = [...others, ...Object.entries(known)];
    return `{${gap}${all.map(([name, value]) => `"${name}"${gap}:${value}`).join(`,${gap}`)}${gap}}`;
  });
const record = fc
  .record({
    json: eventText,
    type: fc.constantFrom(...eventTypes),
    clientAddress: fc.constantFrom("", "203.0.113.7", "2001:db8::1"),
    messageId: fc.option(fc.uint8Array({ minLength: 16, maxLength: 16 }), { nil: undefined }),
    sentAt: fc.option(fc.integer({ min: -7e13, max: 3e14 }), { nil: undefined }),
  })
  .map(({ json, ...over }) => recordOf(json, over));

describe("an event of an SDK", () => {
  // The first test: longer events leave more memory behind.
  test("may have as many bytes as the memory in which it is written", () => {
    const value = "x".repeat((64 << 10) - 100);
    expect(built(`{"messageId":"m","value":"${value}"}`).json).toMatchObject({ value });
  });

  test("is written from its bytes as JSON.parse and objects make it", () => {
    let outlined = 0;
    fc.assert(
      fc.property(record, (one) => {
        const event = eventOf(one);
        const text = new TextDecoder("utf-8", { fatal: true }).decode(event.json);
        const expected = referenceEvent(one);
        // An id that is a large number has the digits that were sent.
        expected.rudderId = referenceRudderId({ ...event });
        expect(canonical(JSON.parse(text))).toBe(canonical(expected));
        expect(text).not.toMatch(/[\r\n]/);
        if (/12345678901234567890[,}]/.test(text)) outlined++;
      }),
      { numRuns: runs(1_500, 30_000) },
    );
    // Digits that JSON.parse would lose show that most events are written without it.
    expect(outlined).toBeGreaterThan(20);
  });

  test("has the user that its request was partitioned by", () => {
    fc.assert(
      fc.property(record, (one) => {
        const { user, messageId } = eventOf(one);
        const isBig = /\d{17}/.test(user);
        if (!isBig) expect(user).toBe(referenceUser(one));
        const body = scanBody(Buffer.from(one.json), false);
        if ("problem" in body || eventAt(0).problem !== undefined) return;
        expect(userHashOf(one)).toBe(eventAt(0).user);
        if (one.messageId === undefined) {
          expect(messageId).toBe(JSON.parse(Buffer.from(one.json).toString()).messageId);
        }
      }),
      { numRuns: runs(500, 10_000) },
    );
  });

  test("has the times of ISO 8601, and no others", () => {
    const digits = fc.stringMatching(
      /^[0-9]{4}-[01][0-9]-[0-3][0-9]([Tt ][0-2][0-9]:[0-6][0-9](:[0-6][0-9](\.[0-9]{0,10})?)?([Zz]|[+-][0-2][0-9](:?[0-6][0-9])?)?)?$/,
    );
    fc.assert(
      fc.property(fc.oneof(digits, time, fc.string()), (text) => {
        const json = Buffer.from(JSON.stringify(text));
        expect(timeAt(json, 0, json.length)).toBe(timeOf(text) as number);
      }),
      { numRuns: runs(2_000, 30_000) },
    );
    const escaped = Buffer.from('"\\u0032026-11-20"');
    expect(timeAt(escaped, 0, escaped.length)).toBe(Date.UTC(2026, 10, 20));
  });

  test.each(eventTypes as readonly EventType[])(
    "of the type %s has the type of its record",
    (type) => {
      const { json } = built('{"type":"Other","messageId":"m"}', { type });
      expect(json.type).toBe(type);
    },
  );

  test("keeps what the server does not know, and leaves the write key out", () => {
    const { json, messageId } = built(
      '{"messageId":"m","writeKey":"secret","channel":"mobile","traits":{"plan":"pro"},"previousId":"p"}',
      { clientAddress: "203.0.113.7" },
    );
    expect(json).toEqual({
      ...{ type: "track", messageId: "m", channel: "mobile", previousId: "p" },
      ...{ traits: { plan: "pro" }, context: { ip: "203.0.113.7" }, integrations: { All: true } },
      originalTimestamp: "2026-11-20T07:31:05.123Z",
      sentAt: "2026-11-20T07:31:05.123Z",
      receivedAt: "2026-11-20T07:31:05.123Z",
      timestamp: "2026-11-20T07:31:05.123Z",
      request_ip: "203.0.113.7",
      rudderId: "853ae90f-0351-424b-973e-a615e6487517",
    });
    expect(messageId).toBe("m");
  });

  test("has a timestamp without the error of the client's clock", () => {
    const sent = '"originalTimestamp":"2020-01-01T00:00:00Z"';
    const { json } = built(`{"messageId":"m",${sent}}`, { sentAt: Date.UTC(2020, 0, 1, 0, 0, 2) });
    expect(json.timestamp).toBe("2026-11-20T07:31:03.123Z");
    expect(json.sentAt).toBe("2020-01-01T00:00:02.000Z");
  });

  test("keeps an address that the SDK gave, also one that hides the client's", () => {
    const context = '{"ip":"0.0.0.0"}';
    const { json } = built(`{"messageId":"m","context":${context}}`, { clientAddress: "::1" });
    expect(json.context).toEqual({ ip: "0.0.0.0" });
  });

  test("with as many members as fit into its bytes is built, however deep they are", () => {
    const members = Array.from({ length: 50_000 }, (_, n) => `"${n}":1`).join(",");
    expect(Object.keys(built(`{"messageId":"m",${members}}`).json).length).toBe(50_009);
    const deep = `${'{"a":'.repeat(1_000)}1${"}".repeat(1_000)}`;
    expect(built(`{"messageId":"m","properties":${deep}}`).json.properties.a.a.a).toBeDefined();
  });

  test("that was refused is shown as it was sent", () => {
    for (const json of ["[1]", '"text"', "1", '{"userId":"u","type":"no"}']) {
      const refusal = { refused: "reason", messageId: new Uint8Array(16) };
      expect(built(json, refusal).json).toEqual(JSON.parse(json));
      const hasUser = json.startsWith("{");
      expect(userHashOf(recordOf(json, refusal)) !== 0).toBe(hasUser);
    }
  });
});

test("the rudderId of a user whose events follow each other is hashed once", () => {
  rudderId("u", "other");
  const hash = spyOn(Bun.CryptoHasher, "hash");
  const ids = Array.from({ length: 3 }, () => rudderId("u", "a"));
  const hashes = hash.mock.calls.length;
  hash.mockRestore();
  expect([new Set(ids).size, hashes]).toEqual([1, 1]);
  expect(ids[0]).toBe(referenceRudderId({ userId: "u", anonymousId: "a" }));
  expect(rudderId("u", "b")).not.toBe(ids[0]!);
  expect(rudderId("v", "b")).toBe(referenceRudderId({ userId: "v", anonymousId: "b" }));
});
