import { mayContainMembers, withoutMembers } from "../../destinations/formats/json-members.ts";

/**
 * Creates a function that removes members of these names from an event, so that only user code can
 * set them. Most events have none of them and are returned unchanged.
 */
export function createMemberFilter(names: readonly string[]): (event: Uint8Array) => Uint8Array {
  const taken = new Set(names);
  const isConcerned = mayContainMembers(names);
  return (event) => {
    if (!isConcerned(event)) return event;
    return Buffer.from(withoutMembers(Buffer.from(event).toString(), taken));
  };
}
