import { expect, test } from "bun:test";
import fc from "fast-check";
import type { LiveProgram } from "../../src/catalog/live.ts";
import type { Destination, Source } from "../../src/catalog/model.ts";
import { rudderId } from "../../src/event/rudder-id.ts";
import { createMetadata } from "../../src/pipeline/transforming/metadata.ts";
import { metadataValues } from "./doubles.ts";

test("the metadata of an event is one JSON object, whatever its names and ids are", () => {
  const text = fc.string({ unit: "binary", maxLength: 20 });
  const named = { name: text, destination: text, user: text, anonymous: text, messageId: text };
  fc.assert(
    fc.property(fc.record({ ...named, source: fc.option(text) }), (one) => {
      const destination = { id: "d", workspaceId: "w", name: one.destination, type: "webhook" };
      const live = { transformation: { id: "t", versionId: "v" } } as LiveProgram;
      const source = one.source === null ? undefined : { name: one.source, type: "http" };
      const metadataOf = createMetadata(
        destination as Destination,
        live,
        () => source as Source | undefined,
      );
      const ids = { userId: one.user, anonymousId: one.anonymous };
      const event = { json: new Uint8Array(), user: "u", name: one.name, ...ids };
      const input = {
        messageId: one.messageId,
        sourceId: "s",
        receivedAt: 0,
        type: "track",
        event,
      };
      expect(metadataValues(metadataOf(input))).toEqual(
        JSON.parse(
          JSON.stringify({
            ...{ sourceId: "s", sourceName: source?.name, sourceType: source?.type },
            ...{ workspaceId: "w", destinationId: "d", destinationName: one.destination },
            ...{ destinationType: "webhook", messageId: one.messageId },
            rudderId: rudderId(one.user, one.anonymous),
            receivedAt: "1970-01-01T00:00:00.000Z",
            ...{ eventName: one.name || undefined, eventType: "track" },
            ...{ transformationId: "t", transformationVersionId: "v" },
          }),
        ),
      );
    }),
  );
}, 300_000);

test("events of several sources, types, names and times each keep their own metadata", () => {
  const destination = { id: "d", workspaceId: "w", name: "To", type: "webhook" } as Destination;
  const live = { transformation: { id: "t", versionId: "v" } } as LiveProgram;
  const text = fc.constantFrom("a", "b", "a b");
  const drawn = fc.record({
    ...{ sourceId: text, type: text, name: fc.option(text), user: text, messageId: text },
    receivedAt: fc.constantFrom(0, 1),
  });
  fc.assert(
    fc.property(fc.array(drawn), (events) => {
      const sourceById = (id: string) => ({ name: `Source ${id}`, type: "http" }) as Source;
      const metadataOf = createMetadata(destination, live, sourceById);
      for (const { name, user, ...one } of events) {
        const ids = { userId: user, anonymousId: user };
        const event = { json: new Uint8Array(), user, name: name ?? undefined, ...ids };
        expect(metadataValues(metadataOf({ ...one, event }))).toMatchObject({
          ...{ sourceId: one.sourceId, sourceName: `Source ${one.sourceId}` },
          ...{ eventType: one.type, messageId: one.messageId, rudderId: rudderId(user, user) },
          receivedAt: new Date(one.receivedAt).toISOString(),
          ...(name !== null && { eventName: name }),
        });
      }
    }),
  );
}, 300_000);
