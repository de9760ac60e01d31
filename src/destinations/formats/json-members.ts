/**
 * Callback that reads one member of an object or one item of an array, and returns the offset after
 * the value (see `valueEnd`).
 *
 * - `key`: the member's name, or the item's index as text
 * - `valueStart`: the offset of the value in the JSON text
 * - `start`: the offset of the member's name; for an item, the same as `valueStart`
 */
type ReadMember = (key: string, valueStart: number, start: number) => number;

/**
 * Reads the object or array at offset `at` of a JSON text: calls `read` for each member or item, in
 * order. Returns the offset after the object or array. Throws a SyntaxError when the text ends
 * early.
 */
export function readMembers(text: string, at: number, read: ReadMember): number {
  const opening = text[at];
  if (opening !== "{" && opening !== "[") return valueEnd(text, at);
  let start = tokenAt(text, at + 1);
  for (let index = 0; text[start] !== "}" && text[start] !== "]"; index += 1) {
    const keyEnd = opening === "{" ? valueEnd(text, start) : start;
    const key = opening === "{" ? JSON.parse(text.slice(start, keyEnd)) : String(index);
    const valueStart = opening === "{" ? tokenAt(text, tokenAt(text, keyEnd) + 1) : start;
    const next = tokenAt(text, read(key, valueStart, start));
    start = text[next] === "," ? tokenAt(text, next + 1) : next;
  }
  return start + 1;
}

/**
 * The method `includes` of `Buffer`. It also works on a `Uint8Array`, without making a `Buffer`.
 */
const { includes } = Buffer.prototype;

/**
 * Returns a fast function that checks whether a JSON text may contain, at any depth, a member whose
 * name is in `names`. The result false is certain, except for names written with escapes.
 */
export function mayContainMembers(names: readonly string[]): (json: Uint8Array) => boolean {
  // One search finds all names with the same ending. Fewer searches matter, because each event is
  // searched.
  const ends = new Set(names.map((name) => `${name.slice(-4)}"`));
  const needles = [...ends].map((end) => Buffer.from(end));
  return (json) => {
    for (const needle of needles) if (includes.call(json, needle)) return true;
    return false;
  };
}

/**
 * Removes members by name from the JSON text of an object. The text of the other members does not
 * change.
 */
export function withoutMembers(text: string, names: ReadonlySet<string>): string {
  const members: string[] = [];
  readMembers(text, tokenAt(text, 0), (key, valueStart, start) => {
    const end = valueEnd(text, valueStart);
    if (!names.has(key)) members.push(text.slice(start, end));
    return end;
  });
  return `{${members.join(",")}}`;
}

/** Returns the offset of the first character at or after `start` that is not white space. */
export function tokenAt(text: string, start: number): number {
  let at = start;
  while (isBlank(text.charCodeAt(at))) at += 1;
  return at;
}

/** Returns the offset after the JSON value that begins at `start`. */
export function valueEnd(text: string, start: number): number {
  let depth = 0;
  let at = start;
  do {
    const first = text[at];
    if (first === undefined) throw new SyntaxError("Expected the end of a JSON value");
    if (first === '"') {
      at = stringEnd(text, at);
    } else if (first === "{" || first === "[") {
      depth += 1;
      at += 1;
    } else if (first === "}" || first === "]") {
      depth -= 1;
      at += 1;
    } else {
      const pattern = depth === 0 ? word : betweenStrings;
      pattern.lastIndex = at;
      if (!pattern.test(text)) throw new SyntaxError("Expected a JSON value");
      at = pattern.lastIndex;
    }
  } while (depth > 0);
  return at;
}

/** Matches a number, true, false or null. */
const word = /[^\s,\]}]+/y;
/** Matches text up to the next quote or bracket: white space, commas, colons, numbers and words. */
const betweenStrings = /[^"{}[\]]+/y;

/** Returns the offset after the JSON string that begins at `start`. */
function stringEnd(text: string, start: number): number {
  for (let at = start + 1; ; at += 1) {
    at = text.indexOf('"', at);
    if (at < 0) throw new SyntaxError("Expected the end of a string");
    let escapes = 0;
    while (text[at - 1 - escapes] === "\\") escapes += 1;
    if (escapes % 2 === 0) return at + 1;
  }
}

const isBlank = (code: number) => code === 0x20 || (code >= 0x09 && code <= 0x0d);
