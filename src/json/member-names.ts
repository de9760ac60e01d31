import {
  firstMember,
  NOT_JSON,
  nextMember,
  OBJECT_END,
  scanned,
  skipValue,
  stringText,
} from "./json-scanner.ts";

/** Result of a function from `memberNames` for a member whose name is not in its list. */
export const OTHER_NAME = -1;

/**
 * Returns a function that identifies the member that the scanner found last (`scanned.nameStart`):
 * it returns the index of the member's name in `names`, or `OTHER_NAME`. The name in the JSON may
 * contain escapes.
 */
export function memberNames(names: readonly string[]): (bytes: Buffer) => number {
  const texts = names.map((name) => Buffer.from(name));
  /**
   * Hash table of the names. `first` has, for each hash, the index of a name in `names`. `next`
   * has, for each name, the index of the next name with the same hash. `OTHER_NAME` ends the chain.
   */
  const first = new Int8Array(256).fill(OTHER_NAME);
  const next = new Int8Array(names.length).fill(OTHER_NAME);
  for (const [index, text] of texts.entries()) {
    const hash = hashOf(text, 0, text.length);
    next[index] = first[hash]!;
    first[hash] = index;
  }
  return (bytes) => {
    const start = scanned.nameStart + 1;
    const length = scanned.nameEnd - 1 - start;
    if (scanned.isEscaped) return names.indexOf(stringText(bytes, start - 1, start + length + 1));
    if (length === 0) return OTHER_NAME;
    let index = first[hashOf(bytes, start, length)]!;
    while (index >= 0 && !isAt(texts[index]!, bytes, start, length)) index = next[index]!;
    return index;
  };
}

function hashOf(bytes: Buffer, start: number, length: number): number {
  return (bytes[start]! + 3 * bytes[start + length - 1]! + 7 * length) & 0xff;
}

function isAt(name: Buffer, bytes: Buffer, start: number, length: number): boolean {
  if (name.length !== length) return false;
  for (let i = 0; i < length; i++) if (bytes[start + i] !== name[i]) return false;
  return true;
}

/** Value in the array `starts` of `memberSpans` for a member that the object does not have. */
export const ABSENT = -1;

/** Creates an object whose `find` finds members of a JSON object without allocating memory. */
export function memberSpans(names: readonly string[]) {
  const indexOf = memberNames(names);
  const starts = new Int32Array(names.length);
  const ends = new Int32Array(names.length);
  return {
    /**
     * Offsets of the values in the object that `find` scanned last, one for each of `names`;
     * `ABSENT` when the object has no such member. If members have the same name, the last one
     * counts, as for `JSON.parse`.
     */
    starts,
    ends,
    /**
     * Scans the object whose opening brace is at `start`, in a text from `loadText`. Returns the
     * offset after the object, or `NOT_JSON`. Writes the named members' offsets to `starts` and
     * `ends`, valid until the next call.
     */
    find(bytes: Buffer, start: number) {
      starts.fill(ABSENT);
      let at = firstMember(bytes, start);
      while (at >= 0) {
        const index = indexOf(bytes);
        const valueEnd = skipValue(bytes, at);
        if (valueEnd < 0) return NOT_JSON;
        if (index !== OTHER_NAME) {
          starts[index] = at;
          ends[index] = valueEnd;
        }
        at = nextMember(bytes, valueEnd);
      }
      return at === OBJECT_END ? scanned.objectEnd : NOT_JSON;
    },
  };
}
