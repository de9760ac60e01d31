import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { FollowedMessage } from "../../../src/api/client.ts";
import type { RecentEvent } from "../../../src/console/data/model.ts";
import {
  type DestinationOutcome,
  EventBuffer,
  latestOf,
  searchedText,
  type TailEvent,
  tailEventKey,
  tailEventOf,
} from "../../../src/console/tail/event-buffer.ts";

const EVENTS_MAX = 1_000;

const message = (name: string, data: object) =>
  ({
    name,
    data: { messageId: "m", sourceId: "s", at: "2", receivedAt: "1", ...data },
  }) as FollowedMessage;
const recent = (event: object) =>
  ({ messageId: "m", sourceId: "s", at: "2", receivedAt: "1", outcomes: [], ...event }) as never;
/** Returns the event with this messageId, received from the source at the time 1. */
const eventIn = (buffer: EventBuffer, messageId: string) =>
  buffer.get(tailEventKey(tailEventOf(recent({ messageId }))));
const idsOf = (events: readonly TailEvent[]) => events.map(({ messageId }) => messageId);

describe("the events of a live tail", () => {
  test("have the time of their receipt, and are sorted by that of the first message", () => {
    const buffer = new EventBuffer();
    buffer.add(message("received", { event: { a: 1 } }));
    buffer.add(message("delivered", { at: "3", destinationId: "d" }));
    buffer.add(message("delivered", { messageId: "n", at: "4", destinationId: "d" }));
    expect([buffer.added, buffer.size]).toEqual([2, 2]);
    expect(buffer.all()).toStrictEqual([
      {
        ...{ messageId: "m", sourceId: "s", at: "1", firstAt: "2", hasAllOutcomes: false },
        ...{
          received: { a: 1 },
          outcomes: [{ destinationId: "d", outcome: "delivered", at: "3" }],
        },
      },
      {
        ...{ messageId: "n", sourceId: "s", at: "1", firstAt: "4", hasAllOutcomes: false },
        outcomes: [{ destinationId: "d", outcome: "delivered", at: "4" }],
      },
    ]);
    buffer.clear();
    expect([buffer.size, buffer.added, eventIn(buffer, "m")]).toEqual([0, 2, undefined]);
  });

  test("with one messageId are several, from another source or received at another time", () => {
    const buffer = new EventBuffer();
    const repeated = [{ destinationId: "d", outcome: "repeated" }];
    buffer.addRecent([recent({ receivedAt: "2", outcomes: repeated }), recent({})]);
    buffer.add(message("delivered", { destinationId: "d" }));
    buffer.add(message("delivered", { sourceId: "other", destinationId: "e" }));
    const shown = buffer.all().map(({ outcomes }) => outcomes.map(({ outcome }) => outcome));
    expect(shown).toEqual([["delivered"], ["repeated"], ["delivered"]]);
  });

  test("have what a message says about an outcome, by destination", () => {
    const buffer = new EventBuffer();
    const failure = { event: { b: 1 }, reason: "HTTP 500", response: { status: 500 } };
    buffer.add(message("failed", { destinationId: "z", ...failure }));
    buffer.add(message("dropped", { destinationId: "a", at: undefined }));
    expect(eventIn(buffer, "m")?.outcomes as unknown).toStrictEqual([
      { destinationId: "a", outcome: "dropped" },
      { destinationId: "z", outcome: "failed", at: "2", ...failure },
    ]);
  });

  test(`are the latest ${EVENTS_MAX}`, () => {
    const buffer = new EventBuffer();
    for (let n = 0; n <= EVENTS_MAX; n++) buffer.add(message("received", { messageId: `${n}` }));
    expect([buffer.size, buffer.added]).toEqual([EVENTS_MAX, EVENTS_MAX + 1]);
    expect([eventIn(buffer, "0"), eventIn(buffer, "1")?.messageId]).toEqual([undefined, "1"]);
    // A message about an event in the list displaces none.
    buffer.add(message("delivered", { messageId: "1", destinationId: "d" }));
    expect(buffer.all()[0]?.outcomes).toHaveLength(1);
    buffer.addRecent([recent({ messageId: "old", at: "0" })]);
    expect([buffer.size, eventIn(buffer, "old")]).toEqual([EVENTS_MAX, undefined]);
  });

  test("are joined by recent ones in the order of time, the newest last", () => {
    const buffer = new EventBuffer();
    buffer.add(message("received", { messageId: "b", at: "5" }));
    buffer.addRecent([
      recent({ messageId: "c", at: "7" }),
      recent({ messageId: "a2", at: "3" }),
      recent({ messageId: "a1", at: "3" }),
    ]);
    expect(idsOf(buffer.all())).toEqual(["a1", "a2", "b", "c"]);
    expect(buffer.added).toBe(4);
  });

  test("are sorted by time whatever their order was, and stay in it at one time", () => {
    const times = fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 30 });
    const property = fc.property(times, (all) => {
      const buffer = new EventBuffer();
      buffer.addRecent(all.map((at, n) => recent({ messageId: `${n}`, at: `${at}` })));
      const oldestFirst = all.map((at, n) => ({ at, id: `${n}` })).reverse();
      const sorted = oldestFirst.sort((one, other) => one.at - other.at);
      expect(idsOf(buffer.all())).toEqual(sorted.map(({ id }) => id));
    });
    fc.assert(property);
  });

  test("keep what messages said when recent events add all outcomes", () => {
    const buffer = new EventBuffer();
    buffer.add(message("delivered", { at: "2", destinationId: "d" }));
    buffer.add(message("dropped", { at: "4", destinationId: "e" }));
    const outcomes = [
      { destinationId: "d", outcome: "delivered", at: "2", attempts: 3 },
      { destinationId: "c", outcome: "dropped", at: "1" },
    ];
    buffer.addRecent([recent({ at: "9", received: { a: 1 }, outcomes })]);
    expect(eventIn(buffer, "m")).toMatchObject({ firstAt: "2", received: { a: 1 } });
    expect(eventIn(buffer, "m")?.hasAllOutcomes).toBe(true);
    expect(eventIn(buffer, "m")?.outcomes as unknown).toEqual([
      outcomes[1],
      outcomes[0],
      { destinationId: "e", outcome: "dropped", at: "4" },
    ]);
  });

  test("have the latest stored outcomes when recent events are added again", () => {
    const buffer = new EventBuffer();
    const outcomesAfter = (...outcomes: object[]): unknown => {
      buffer.addRecent([recent({ outcomes })]);
      return eventIn(buffer, "m")?.outcomes;
    };
    outcomesAfter({ destinationId: "d", outcome: "pending" });
    buffer.add(message("dropped", { at: "4", destinationId: "e" }));
    const letter = { destinationId: "d", outcome: "dead-letter", deadLetterId: "l" };
    const dropped = { destinationId: "e", outcome: "dropped", at: "4" };
    expect(outcomesAfter(letter)).toEqual([letter, dropped]);
    const repeated = { destinationId: "d", outcome: "repeated" };
    expect(outcomesAfter(repeated)).toEqual([repeated, dropped]);
  });
});

type Outcome = Partial<DestinationOutcome>;
const at = (outcome: string, more: object = {}) =>
  ({ destinationId: "d", outcome, at: "1", ...more }) as Outcome;
const stored = (outcome: string, more: object = {}) =>
  ({ destinationId: "d", outcome, ...more }) as Outcome;

test.each([
  ["of one time and one event is one", [at("failed"), at("failed")], [at("failed")]],
  [
    "of another time, event or kind is another",
    [at("failed"), at("failed", { at: "2" }), at("failed", { event: {} }), at("delivered")],
    [at("failed"), at("failed", { at: "2" }), at("failed", { event: {} }), at("delivered")],
  ],
  [
    "that is stored gives way to one with a time",
    [stored("delivered"), at("failed")],
    [at("failed")],
  ],
  [
    "at another destination gives way to none",
    [stored("delivered", { destinationId: "c" }), at("failed")],
    [stored("delivered", { destinationId: "c" }), at("failed")],
  ],
  [
    "that is a stored dead letter gives way to no failure",
    [stored("dead-letter"), at("failed")],
    [stored("dead-letter"), at("failed")],
  ],
  [
    "that is a stored dead letter gives way to a dead letter with a time",
    [stored("dead-letter"), at("dead-letter")],
    [at("dead-letter")],
  ],
  [
    "that is stored is one, with all that is known",
    [stored("pending"), stored("dead-letter", { deadLetterId: "l" })],
    [stored("dead-letter", { deadLetterId: "l" })],
  ],
] as [string, Outcome[], Outcome[]][])("an outcome %s", (_, outcomes, merged) => {
  const { outcomes: found } = tailEventOf(recent({ outcomes }) as RecentEvent);
  expect(found as Outcome[]).toEqual(merged);
});

test("events are searched by their JSON in lower case, up to 20,000 characters", () => {
  const event = tailEventOf(recent({ received: { name: "SHOES", text: "x".repeat(30_000) } }));
  const text = searchedText(event);
  expect(text).toContain('"name":"shoes"');
  expect(text).toHaveLength(20_000);
  expect(searchedText(event)).toBe(text);
});

test("the latest events that match come first, as many as are asked for", () => {
  const buffer = new EventBuffer();
  for (let n = 0; n < 6; n++) buffer.add(message("received", { messageId: `${n}` }));
  const isEven = ({ messageId }: TailEvent) => Number(messageId) % 2 === 0;
  const found = (count: number) => idsOf(latestOf(buffer.all(), count, isEven));
  expect([found(2), found(9), found(0)]).toEqual([["4", "2"], ["4", "2", "0"], []]);
});
