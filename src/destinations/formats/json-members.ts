/**
 * Reads a member of an object or an item of an array. Gets its name (for an item its index as text),
 * the offset of its value and its own offset. Returns the offset after the value, which `valueEnd`
 * finds.
 */
type ReadMember = (key: string, valueStart: number, start: number) => number;

/**
 * Calls `read` for each member of the object, or each item of the array, at offset `at` of a JSON
 * text, once and in order; returns the offset after it. Values are not parsed: a number of any length
 * stays as written. Throws a SyntaxError when the text ends early.
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

/** Searches a `Uint8Array` without making a `Buffer` over its memory. */
const { includes } = Buffer.prototype;

/**
 * Returns a fast test whether a JSON text may have members of these names at any depth; most texts
 * have none. Does not find names that are written with escapes.
 */
export function mayContainMembers(names: readonly string[]): (json: Uint8Array) => boolean {
  // One search finds all names with the same ending: each search costs time for every event.
  const ends = new Set(names.map((name) => `${name.slice(-4)}"`));
  const needles = [...ends].map((end) => Buffer.from(end));
  return (json) => needles.some((needle) => includes.call(json, needle));
}

/** Removes members from the JSON text of an object; the other members stay as written. */
export function withoutMembers(text: string, names: ReadonlySet<string>): string {
  const members: string[] = [];
  readMembers(text, tokenAt(text, 0), (key, valueStart, start) => {
    const end = valueEnd(text, valueStart);
    if (!names.has(key)) members.push(text.slice(start, end));
    return end;
  });
  return `{${members.join(",")}}`;
}

/** The offset of the next token. */
export function tokenAt(text: string, start: number): number {
  let at = start;
  while (isBlank(text.charCodeAt(at))) at += 1;
  if (at >= text.length) throw new SyntaxError("Expected more of a JSON text");
  return at;
}

/** The offset after the value that begins at `start`. */
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

/** A number, true, false or null. */
const word = /[^\s,\]}]+/y;
/** Text inside a container other than strings and containers. */
const betweenStrings = /[^"{}[\]]+/y;

/** The offset after the string that begins at `start`. */
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
