import { expect, test } from "bun:test";
import { kafkaFaults } from "../../src/destinations/kafka/config.ts";
import { createRecordEncoder } from "../../src/destinations/kafka/record.ts";
import type { BuiltEvent } from "../../src/event/built-event.ts";
import { eventOf } from "../../src/event/event.ts";
import { recordOf } from "../event/agreement.ts";

const encode = createRecordEncoder({ brokers: "b:1", topic: "events" });
const origin = { messageId: "m", sourceId: "s", receivedAt: 1_790_000_000_000, type: "track" };

/** The event that is built from the JSON of an SDK. */
function ofJson(json: string): BuiltEvent {
  const { receivedAt, sourceId } = origin;
  const record = {
    format: "json",
    type: "track",
    receivedAt,
    sourceId,
    clientAddress: "",
  } as const;
  return eventOf({
    ...record,
    messageId: new Uint8Array(16),
    sentAt: undefined,
    json: Uint8Array.from(Buffer.from(json)),
  });
}

/** Keys of an event whose ids are known, and of one whose JSON is read. */
function keysOf(event: BuiltEvent): [string | undefined, string | undefined] {
  const of = (input: object) => {
    const { key } = encode({ bytes: event.json, input: { ...origin, ...input }, byCode: false });
    return key?.toString();
  };
  return [of({ event }), of({})];
}

test("a record has the same key whether the event's ids are known or read from its JSON", () => {
  const ids = ["", "%20", "u", "%C3%A9%22%5C", "0123", "12345678901234567890", "%00"];
  for (const id of ids) {
    for (const query of [`userId=${id}`, `userId=${id}&anonymousId=a`, `anonymousId=${id}`]) {
      const [known, read] = keysOf(eventOf(recordOf(query)));
      expect([query, known]).toEqual([query, read]);
    }
  }
  const values = ['""', '" "', '"u"', '"\\u00e9\\""', "12", "12345678901234567890", "1.50", "true"];
  for (const id of [...values, "null", "{}"]) {
    for (const members of [`"userId":${id}`, `"userId":${id},"anonymousId":"a"`]) {
      const [known, read] = keysOf(ofJson(`{"type":"track",${members}}`));
      expect([members, known]).toEqual([members, read]);
    }
  }
});

test("two users whose ids are integers beyond 2^53 have two keys", () => {
  for (const id of ["9007199254740992", "9007199254740993"]) {
    expect(keysOf(ofJson(`{"type":"track","userId":${id}}`))).toEqual([id, id]);
  }
});

test("the time of receipt is that of each event", () => {
  const times = [1_790_000_000_000, 1_790_000_000_000, 1_790_000_000_001, 0];
  const headers = times.map((receivedAt) => {
    const record = encode({
      bytes: Buffer.from("{}"),
      input: { ...origin, receivedAt },
      byCode: false,
    });
    return record.headers?.at(-1);
  });
  expect(headers).toEqual(times.map((time) => new Date(time).toISOString()));
});

test("the bytes of a record grow by those of its value, its key and its headers", () => {
  const bytesOf = (json: string, more: object = {}) =>
    encode({ bytes: Buffer.from(json), input: { ...origin, ...more }, byCode: false }).bytes;
  const without = bytesOf('{"userId":""}');
  expect(bytesOf('{"userId":"12345"}') - without).toBe(10);
  expect(bytesOf('{"userId":"" }') - without).toBe(1);
  expect(bytesOf('{"userId":""}', { messageId: "longer" }) - without).toBe(5);
  const headers = ["messageId", "m", "type", "track", "sourceId", "s", "receivedAt"].join("");
  const time = new Date(origin.receivedAt).toISOString();
  // The record and its four headers take some bytes themselves.
  expect(without).toBe(30 + 4 * 6 + '{"userId":""}'.length + headers.length + time.length);
});

test("a topic has the name of a track event, else its type, else the type of the request", () => {
  const named = createRecordEncoder({ brokers: "b:1", topic: "x.{{event}}" });
  const topicOf = (json: string) =>
    named({ bytes: Buffer.from(json), input: origin, byCode: false }).topic;
  expect(topicOf('{"event":"Order","type":"page"}')).toBe("x.Order");
  expect(topicOf('{"type":"page"}')).toBe("x.page");
  expect(topicOf('{"event":null,"type":{}}')).toBe("x.track");
  expect(topicOf("no JSON")).toBe("x.track");
  const fixed = encode({ bytes: Buffer.from('{"event":"Order"}'), input: origin, byCode: false });
  expect(fixed.topic).toBe("events");
});

test.each([
  ["x".repeat(249), true],
  [`${"x".repeat(248)}{{event}}`, true],
  [`${"x".repeat(247)}{{event}}{{event}}`, true],
  [`${"x".repeat(240)}{{event}}${"x".repeat(9)}`, false],
])("a topic has room for its letters and one of the event's name: %s", (topic, fits) => {
  expect(kafkaFaults({ brokers: "b:1", topic }).length === 0).toBe(fits);
});
