import { describe, expect, test } from "bun:test";
import { eventOf } from "../../src/event/event.ts";
import { streamQuery } from "../../src/event/scan.ts";
import { recordOf } from "./agreement.ts";
import { fixtures } from "./fixtures.ts";
import { referenceEvent } from "./reference.ts";

function parsed(json: Uint8Array): Record<string, unknown> {
  return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(json));
}

describe("an event", () => {
  for (const { rule, query, type = "page", event } of fixtures) {
    test(rule, () => {
      const record = recordOf(query, type);
      const actual = eventOf(record);
      expect(parsed(actual.json)).toStrictEqual({
        type,
        channel: "web",
        messageId: "00112233-4455-6677-8899-aabbccddeeff",
        properties: {},
        context: {},
        integrations: { All: true },
        originalTimestamp: "2026-11-20T07:31:05.123Z",
        sentAt: "2026-11-20T07:31:05.123Z",
        receivedAt: "2026-11-20T07:31:05.123Z",
        ...event,
      });
      expect(new TextDecoder().decode(actual.json)).toBe(referenceEvent(record));
    });
  }

  test("carries the client's address if the record has one", () => {
    const { json } = eventOf({ ...recordOf("userId=u"), clientAddress: "2001:db8::1" });
    expect(parsed(json).request_ip).toBe("2001:db8::1");
  });

  test("carries its own id and times, not those of the event before", () => {
    for (const [receivedAt, byte] of [
      [0, 0xff],
      [1_763_623_865_123, 0x00],
      [1_763_623_865_123, 0x9c],
      [4_102_444_799_999, 0x40],
      [0, 0x0f],
    ] as const) {
      const record = {
        ...recordOf("userId=u"),
        receivedAt,
        messageId: new Uint8Array(16).fill(byte),
      };
      expect(Buffer.from(eventOf(record).json).toString()).toBe(referenceEvent(record));
    }
  });

  test("that is read by way of the tree has the first 1,000 parameters of its record", () => {
    const query = Array.from({ length: 1_001 }, (_, n) => `properties.p${n}=1`).join("&");
    expect(streamQuery(query, "page")).toBe(false);
    const { properties } = parsed(eventOf(recordOf(query)).json) as { properties: object };
    expect(Object.keys(properties)).toHaveLength(1_000);
  });

  test("whose names share objects at several levels is written in one pass", () => {
    const names = ["a.b.c", "a.b.d", "a.e", "f"].map((name) => `properties.${name}=1`);
    expect(streamQuery(names.join("&"), "page")).toBe(true);
  });

  test("is written in one pass after as many queries as have numbers of their own", () => {
    const query = "properties.a=1&properties.b=2";
    expect(streamQuery(query, "page")).toBe(true);
    // Queries are numbered from 1 to 65,535, and the next one with the number of `query` is that
    // again.
    for (let n = 1; n < 0xffff; n++) streamQuery("x=1", "page");
    expect(streamQuery(query, "page")).toBe(true);
  });

  test("never carries the write key", () => {
    const { json } = eventOf(
      recordOf("writeKey=secret&userId=u&write%4Bey=secret&writeKey.x=secret"),
    );
    expect(Buffer.from(json).toString()).not.toContain("secret");
  });

  test("is unchanged while the next one is built", () => {
    const first = eventOf(recordOf("userId=one"));
    eventOf(recordOf("userId=two&properties.a=b"));
    expect(parsed(first.json).userId).toBe("one");
  });

  test("has a user and a name", () => {
    const both = eventOf(recordOf("anonymousId=a&userId=%C3%A9%22&event=Bought+it", "track"));
    expect([both.user, both.name]).toEqual(['é"', "Bought it"]);
    const anonymous = eventOf(recordOf("anonymousId=%22a%22&userId=+&event=x", "page"));
    expect([anonymous.user, anonymous.name]).toEqual(["a", ""]);
  });
});
