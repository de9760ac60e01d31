import type { LiveProgram } from "../../catalog/live-view.ts";
import type { Destination, Source } from "../../catalog/model.ts";
import { rudderId } from "../../event/rudder-id.ts";
import type { MetadataKey } from "../../sandbox/program.ts";
import type { InputEvent } from "../model/input-event.ts";

/**
 * Creates a function that returns the JSON text for `metadata(event)` in user code. The part that
 * all events of a batch share is serialized only once.
 */
export function createMetadata(
  destination: Destination,
  live: LiveProgram,
  sourceById: (id: string) => Source | undefined,
): (input: InputEvent) => Uint8Array {
  const heads = new Map<string, string>();
  const { id: transformationId, versionId: transformationVersionId } = live.transformation;
  const tail = members({ transformationId, transformationVersionId });
  const headOf = (sourceId: string) => {
    const source = sourceById(sourceId);
    const head = members({
      sourceId,
      sourceName: source?.name,
      sourceType: source?.type,
      workspaceId: destination.workspaceId,
      destinationId: destination.id,
      destinationName: destination.name,
      destinationType: destination.type,
    });
    heads.set(sourceId, head);
    return head;
  };
  return (input) => {
    const { event, sourceId, messageId, type } = input;
    const head = heads.get(sourceId) ?? headOf(sourceId);
    const rudder = rudderId(event.userId, event.anonymousId);
    const receivedAt = new Date(input.receivedAt).toISOString();
    // A page event may have no name.
    const name = event.name ? `"eventName":${JSON.stringify(event.name)},` : "";
    return Buffer.from(
      `{${head},"messageId":"${messageId}","rudderId":"${rudder}","receivedAt":"${receivedAt}",` +
        `${name}"eventType":"${type}",${tail}}`,
    );
  };
}

/**
 * Serializes an object's members as JSON text without the braces, so that more members can be
 * added.
 */
function members(values: Partial<Record<MetadataKey, unknown>>): string {
  return JSON.stringify(values).slice(1, -1);
}
