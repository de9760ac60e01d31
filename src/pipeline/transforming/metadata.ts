import type { LiveProgram } from "../../catalog/live.ts";
import type { Destination, Source } from "../../catalog/model.ts";
import { rudderId } from "../../event/rudder-id.ts";
import type { EventMetadata, MetadataKey } from "../../sandbox/program.ts";
import type { InputEvent } from "../model/input-event.ts";

/**
 * The part of an event's metadata that all events with the same source, type and name have in
 * common, as JSON.
 */
interface SharedMetadata {
  sourceId: string;
  type: string;
  name: string | undefined;
  text: string;
}

/**
 * Creates a function that returns the metadata of an event, which user code reads with
 * `metadata(event)`. The part that several events have in common is serialized once and reused.
 */
export function createMetadata(
  destination: Destination,
  live: LiveProgram,
  sourceById: (id: string) => Source | undefined,
): (input: InputEvent) => EventMetadata {
  const { id: transformationId, versionId: transformationVersionId } = live.transformation;
  const known = new Map<string, SharedMetadata>();
  let last: SharedMetadata | undefined;
  const sharedOf = ({ sourceId, type, event: { name } }: InputEvent): string => {
    // Most batches have events of one source and one name.
    if (last?.sourceId === sourceId && last.type === type && last.name === name) return last.text;
    // The lengths make different values different keys.
    const key = `${sourceId.length} ${type.length} ${sourceId}${type}${name ?? ""}`;
    last = known.get(key) ?? { sourceId, type, name, text: textOf(sourceId, type, name) };
    known.set(key, last);
    return last.text;
  };
  const textOf = (sourceId: string, type: string, name: string | undefined) => {
    const source = sourceById(sourceId);
    const values: Record<MetadataKey, unknown> = {
      sourceId,
      sourceName: source?.name,
      sourceType: source?.type,
      workspaceId: destination.workspaceId,
      destinationId: destination.id,
      destinationName: destination.name,
      destinationType: destination.type,
      // The event's own values replace these three keys, at their place in the order.
      messageId: "",
      rudderId: "",
      receivedAt: "",
      // A page event may have no name.
      eventName: name || undefined,
      eventType: type,
      transformationId,
      transformationVersionId,
    };
    return JSON.stringify(values);
  };
  let receivedAt = Number.NaN;
  let receivedAtText = "";
  return (input) => {
    const { event, messageId } = input;
    // Events that follow each other in a busy log were often received in the same millisecond.
    if (input.receivedAt !== receivedAt) {
      receivedAt = input.receivedAt;
      receivedAtText = new Date(receivedAt).toISOString();
    }
    const rudder = rudderId(event.userId, event.anonymousId);
    // An SDK chooses its messageIds, which may hold quotes.
    const id = JSON.stringify(messageId);
    return { shared: sharedOf(input), own: `${id},"${rudder}","${receivedAtText}"` };
  };
}
