import type { Revision } from "../../catalog/model.ts";
import { rudderId } from "../../event/rudder-id.ts";
import type { MetadataKey } from "../../sandbox/program.ts";
import type { TestEvent } from "../publisher.ts";

/**
 * Returns the object that `metadata(event)` returns in a test. Every field has a value, as for a
 * live event, so that code which relies on a field does not fail its tests.
 */
export function testMetadata(
  revision: Revision,
  event: TestEvent,
  index: number,
): Record<MetadataKey, unknown> {
  const { userId, anonymousId } = event;
  return {
    sourceId: "test-source",
    sourceName: "Test source",
    sourceType: "http",
    workspaceId: revision.workspaceId,
    destinationId: "test-destination",
    destinationName: "Test destination",
    destinationType: "webhook",
    messageId: event.messageId ?? `test-message-${index}`,
    rudderId: event.rudderId ?? rudderId(text(userId), text(anonymousId)),
    receivedAt: event.receivedAt ?? new Date().toISOString(),
    eventName: event.event ?? event.name ?? "",
    eventType: event.type ?? "track",
    transformationId: revision.id,
    transformationVersionId: revision.versionId,
  };
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
