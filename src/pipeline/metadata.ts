import type { LiveProgram } from "../catalog/catalog.ts";
import type { Destination, Source } from "../catalog/model.ts";
import { rudderId } from "../publishing/rudder-id.ts";
import type { Input } from "./input.ts";

/** What `metadata(event)` answers in user code (decisions §7), as JSON text. */
export function metadataJson(
  input: Input,
  source: Source | undefined,
  destination: Destination,
  live: LiveProgram,
): Uint8Array {
  const { event } = input;
  const { userId, anonymousId } = JSON.parse(Buffer.from(event.json).toString());
  const metadata = {
    sourceId: input.sourceId,
    sourceName: source?.name,
    sourceType: source?.type,
    workspaceId: destination.workspaceId,
    destinationId: destination.id,
    destinationName: destination.name,
    destinationType: destination.type,
    messageId: input.messageId,
    rudderId: rudderId(text(userId), text(anonymousId)),
    receivedAt: new Date(input.receivedAt).toISOString(),
    // A page has none.
    eventName: event.name || undefined,
    eventType: input.type,
    transformationId: live.transformation.id,
    transformationVersionId: live.transformation.versionId,
  };
  return Buffer.from(JSON.stringify(metadata));
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
