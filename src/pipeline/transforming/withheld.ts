import { withoutMembers } from "../../destinations/formats/json-members.ts";

/**
 * Returns the function that takes members of these names out of an event, so that only user code can
 * have given them to what it makes. Most events have none of them and stay the same object.
 */
export function withholding(names: readonly string[]): (event: Uint8Array) => Uint8Array {
  const taken = new Set(names);
  const needles = names.map((name) => Buffer.from(`"${name}"`));
  return (event) => {
    const text = Buffer.from(event.buffer, event.byteOffset, event.byteLength);
    if (!needles.some((needle) => text.includes(needle))) return event;
    return Buffer.from(withoutMembers(text.toString(), taken));
  };
}
