/**
 * Reads a member of an object or an item of an array: its name (an index, as text), where its value
 * begins, and where itself. Returns where the value ends: `valueEnd` finds that.
 */
type ReadMember = (key: string, valueStart: number, start: number) => number;

/**
 * Reads the members of the object, or the items of the array, that begins at `at` of a JSON text,
 * once and in their order; returns where it ends. Values are found without being parsed: a number of
 * any length stays as it is written. Throws a SyntaxError where the text ends early.
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

/** Searches a `Uint8Array` too, without a `Buffer` over the same memory. */
const { includes } = Buffer.prototype;

/**
 * Returns the function that tells whether a JSON text may hold members of these names, in whatever
 * depth: quick, since most texts hold none. Names that are written with escapes are not found.
 */
export function mayContainMembers(names: readonly string[]): (json: Uint8Array) => boolean {
  // Names that end alike are looked for together: each search takes its time of every event.
  const ends = new Set(names.map((name) => `${name.slice(-4)}"`));
  const needles = [...ends].map((end) => Buffer.from(end));
  return (json) => needles.some((needle) => includes.call(json, needle));
}

/** The JSON text of an object without some of its members; the rest stays as it is written. */
export function withoutMembers(text: string, names: ReadonlySet<string>): string {
  const kept: string[] = [];
  readMembers(text, tokenAt(text, 0), (key, valueStart, start) => {
    const end = valueEnd(text, valueStart);
    if (!names.has(key)) kept.push(text.slice(start, end));
    return end;
  });
  return `{${kept.join(",")}}`;
}

/** Where the next token begins. */
export function tokenAt(text: string, start: number): number {
  let at = start;
  while (isBlank(text.charCodeAt(at))) at += 1;
  if (at >= text.length) throw new SyntaxError("Expected more of a JSON text");
  return at;
}

/** Where the value that begins at `start` ends. */
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
/** What may stand inside a container beside strings and containers. */
const betweenStrings = /[^"{}[\]]+/y;

/** After the string that begins at `start`. */
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
