import { expect, test } from "bun:test";
import type { Revision } from "../../src/catalog/model.ts";
import { rudderId } from "../../src/event/rudder-id.ts";
import { defaultEvents } from "../../src/publishing/default-test-events.ts";
import { testMetadata } from "../../src/publishing/testing/test-metadata.ts";
import { metadataKeys } from "../../src/sandbox/program.ts";

const revision = { id: "t", versionId: "v", workspaceId: "w" } as Revision;

test("the default events are one page and one track, as a pixel makes them", () => {
  expect(defaultEvents.map(({ type, name, event }) => [type, name, event])).toEqual([
    ["page", "Product", undefined],
    ["track", undefined, "Product Added"],
  ]);
  for (const event of defaultEvents) {
    expect(event).toMatchObject({ properties: {}, context: {}, integrations: { All: true } });
  }
});

test("every field of the metadata has a value, for an empty event too", () => {
  for (const event of [{}, ...defaultEvents]) {
    const metadata = JSON.parse(JSON.stringify(testMetadata(revision, event, 0)));
    expect(Object.keys(metadata).sort()).toEqual([...metadataKeys].sort());
  }
  expect(testMetadata(revision, defaultEvents[1]!, 0)).toMatchObject({
    messageId: defaultEvents[1]!.messageId,
    eventName: "Product Added",
    eventType: "track",
  });
});

test("a rudderId is the MD5 of both ids as a UUID", () => {
  // printf user-1:anon | md5sum: 7488a52070ac60ef5ec227f22feaabed, then version and variant.
  expect(rudderId("user-1", "anon")).toBe("7488a520-70ac-40ef-9ec2-27f22feaabed");
  expect(rudderId("user-1", "anon")).not.toBe(rudderId("user-2", "anon"));
});
