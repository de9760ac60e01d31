import { mayContainMembers, withoutMembers } from "../../destinations/formats/json-members.ts";

/**
 * Returns the function that takes members of these names out of an event, so that only user code can
 * have given them to what it makes. Most events have none of them and stay the same object.
 */
export function createMemberFilter(names: readonly string[]): (event: Uint8Array) => Uint8Array {
  const taken = new Set(names);
  const isConcerned = mayContainMembers(names);
  return (event) => {
    if (!isConcerned(event)) return event;
    return Buffer.from(withoutMembers(Buffer.from(event).toString(), taken));
  };
}
