import {
  mayContainMembers,
  readMembers,
  tokenAt,
  valueEnd,
  withoutMembers,
} from "../../destinations/formats/json-members.ts";

const ESCAPE = Buffer.from("\\u");
const { includes } = Buffer.prototype;

/**
 * Creates a function that removes the members in `names` from an event's JSON, at the top level and
 * in each object in `integrations`. Needed for events from clients, because only user code may set
 * such members.
 */
export function createMemberFilter(names: readonly string[]): (event: Uint8Array) => Uint8Array {
  if (names.length === 0) return (event) => event;
  const taken = new Set(names);
  const mayContain = mayContainMembers(names);
  return (event) => {
    // An SDK may write letters of a name as escape sequences.
    if (!mayContain(event) && !includes.call(event, ESCAPE)) return event;
    return Buffer.from(withoutTaken(Buffer.from(event).toString(), taken));
  };
}

function withoutTaken(text: string, taken: ReadonlySet<string>): string {
  const members: string[] = [];
  readMembers(text, tokenAt(text, 0), (key, valueStart, start) => {
    const end = valueEnd(text, valueStart);
    if (key === "integrations") {
      members.push(`"integrations":${withoutTakenBelow(text.slice(valueStart, end), taken)}`);
    } else if (!taken.has(key)) members.push(text.slice(start, end));
    return end;
  });
  return `{${members.join(",")}}`;
}

/**
 * Removes the members named in `taken` from the objects in an event's `integrations`. `text` is the
 * JSON of `integrations`; its values that are not objects stay unchanged.
 */
function withoutTakenBelow(text: string, taken: ReadonlySet<string>): string {
  if (text[0] !== "{") return text;
  const members: string[] = [];
  readMembers(text, 0, (_, valueStart, start) => {
    const end = valueEnd(text, valueStart);
    const value = text.slice(valueStart, end);
    const kept = value[0] === "{" ? withoutMembers(value, taken) : value;
    members.push(text.slice(start, valueStart) + kept);
    return end;
  });
  return `{${members.join(",")}}`;
}
