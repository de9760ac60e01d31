import { mayContainMembers, withoutMembers } from "../../destinations/formats/json-members.ts";

/**
 * Creates a function that removes the members with these names from an event's JSON. Only user code
 * may set these members, so they must not come from a client. An event without such a member is
 * returned unchanged.
 */
export function createMemberFilter(names: readonly string[]): (event: Uint8Array) => Uint8Array {
  const taken = new Set(names);
  const isConcerned = mayContainMembers(names);
  return (event) => {
    if (!isConcerned(event)) return event;
    return Buffer.from(withoutMembers(Buffer.from(event).toString(), taken));
  };
}
