import { expect, test } from "bun:test";
import { uuidText } from "../../src/event/uuid.ts";
import type { FoundEvent } from "../../src/pipeline/search/search.ts";
import { eventOf, record } from "./doubles.ts";
import { Rig, until } from "./rig.ts";

test("a dead letter is the outcome of its own event, not of another with the same messageId", async () => {
  const rig = new Rig();
  const sink = rig.webhook("one");
  rig.live.addSource("other");
  rig.live.connect("one", {}, { sourceId: "other" });
  const pipeline = rig.start();
  sink.answer = ([event]) => new Response("", { status: event?.n === 0 ? 400 : 200 });
  const messageId = new Uint8Array(16).fill(7);
  const records = [
    record(0, "ann", { messageId, receivedAt: 1_000 }),
    record(1, "ann", { messageId, receivedAt: 2_000 }),
    record(2, "ann", { messageId, receivedAt: 1_000, sourceId: "other" }),
  ];
  rig.log.append(...records);
  await until(() => pipeline.status("one")?.lagEvents === 0);
  const found = records.map((it, sequence): FoundEvent => {
    const { sourceId, receivedAt } = it;
    const place = { log: "0", sequence, sourceId, receivedAt };
    return { ...place, messageId: uuidText(messageId), event: eventOf(it) };
  });
  const outcomes = await pipeline.outcomes("workspace", found);
  expect(outcomes.flat().map(({ outcome }) => outcome)).toEqual([
    "dead-letter",
    "settled",
    "settled",
  ]);
  await rig.end();
});

test("a dead letter is the outcome of an event that another node received by a clock that is ahead", async () => {
  const rig = new Rig();
  const sink = rig.webhook("one");
  const pipeline = rig.start();
  sink.answer = () => new Response("", { status: 400 });
  const ahead = record(0, "ann", { receivedAt: Date.now() + 1_900 });
  rig.log.append(ahead);
  await until(() => pipeline.status("one")?.lagEvents === 0);
  const { sourceId, receivedAt, messageId } = ahead;
  const place = { log: "0", sequence: 0, sourceId, receivedAt };
  const found = { ...place, messageId: uuidText(messageId), event: eventOf(ahead) };
  expect(await pipeline.outcomes("workspace", [found])).toMatchObject([
    [{ outcome: "dead-letter" }],
  ]);
  await rig.end();
});
