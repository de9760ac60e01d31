import { expect, test } from "bun:test";
import fc from "fast-check";
import { type EventMetadata, ownMetadataKeys } from "../../../src/sandbox/program.ts";
import { metadataJson } from "../../../src/sandbox/protocol/event-metadata.ts";

const shared = fc.constantFrom(
  '{"sourceId":"a"}',
  '{"sourceId":"c"}',
  '{"sourceId":"b","eventName":"ü,]"}',
);
const own = fc.option(fc.tuple(...ownMetadataKeys.map(() => fc.string({ unit: "binary" }))));

test("each event keeps its metadata, and metadata that events share is sent once", () => {
  fc.assert(
    fc.property(fc.array(fc.record({ shared, own })), (events) => {
      const list: EventMetadata[] = events.map((event) => ({
        shared: event.shared,
        own: event.own === null ? "" : JSON.stringify(event.own).slice(1, -1),
      }));
      const [objects, rows] = JSON.parse(metadataJson(list)) as [object[], [number, ...string[]][]];
      expect(objects).toHaveLength(new Set(list.map((one) => one.shared)).size);
      const read = rows.map(([number, ...values]) => [objects[number], values]);
      expect(read).toEqual(events.map((one) => [JSON.parse(one.shared), one.own ?? []]));
    }),
  );
});
