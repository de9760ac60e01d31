import type { Revision } from "../catalog/model.ts";
import type { TestEvent } from "./publishing.ts";

/** What `metadata(event)` answers in a test (decisions §7): a source and a destination that stand in. */
export function testMetadata(revision: Revision, event: TestEvent): Record<string, unknown> {
  return {
    sourceId: "test-source",
    sourceName: "Test source",
    sourceType: "http",
    workspaceId: revision.workspaceId,
    destinationId: "test-destination",
    destinationName: "Test destination",
    destinationType: "webhook",
    messageId: event.messageId,
    rudderId: event.rudderId,
    receivedAt: event.receivedAt ?? new Date().toISOString(),
    eventName: event.event ?? event.name,
    eventType: event.type,
    transformationId: revision.id,
    transformationVersionId: revision.versionId,
  };
}
