import { expect, test } from "bun:test";
import fc from "fast-check";
import { metadataTexts } from "../../../src/sandbox/batch/frame-events.ts";
import { type EventMetadata, ownMetadataKeys } from "../../../src/sandbox/program.ts";
import { decodeFrame, GuestFrameWriter } from "../../../src/sandbox/protocol/guest-frames.ts";

const shared = fc.constantFrom(
  '{"sourceId":"a"}',
  '{"sourceId":"c"}',
  '{"sourceId":"b","eventName":"ü,]"}',
);
const own = fc.option(fc.tuple(...ownMetadataKeys.map(() => fc.string({ unit: "binary" }))));

/** Returns the metadata as the guest reads them. */
function sent(list: readonly EventMetadata[]): [object[], [number, ...string[]][]] {
  const frame = new GuestFrameWriter().write({}, metadataTexts(list));
  return JSON.parse(decodeFrame(frame.subarray(4)).body.toString());
}

test("each event keeps its metadata, and metadata that events share is sent once", () => {
  fc.assert(
    fc.property(fc.array(fc.record({ shared, own })), (events) => {
      const list: EventMetadata[] = events.map((event) => ({
        shared: event.shared,
        own: event.own === null ? "" : JSON.stringify(event.own).slice(1, -1),
      }));
      const [objects, rows] = sent(list);
      expect(objects).toHaveLength(new Set(list.map((one) => one.shared)).size);
      const read = rows.map(([number, ...values]) => [objects[number], values]);
      expect(read).toEqual(events.map((one) => [JSON.parse(one.shared), one.own ?? []]));
    }),
  );
});

test("metadata that are given as bytes arrive unchanged, the same bytes object once", () => {
  const [a, b] = [Buffer.from('{"jobId":1}'), Buffer.from('{"name":"ü"}')];
  const list = [a, b, b, '{"sourceId":"c"}', a].map((it) => ({ shared: it, own: "" }));
  expect(sent(list)).toEqual([
    [{ jobId: 1 }, { name: "ü" }, { sourceId: "c" }, { jobId: 1 }],
    [[0], [1], [1], [2], [3]],
  ]);
});
