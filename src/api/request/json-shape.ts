import { ApiError } from "../../errors.ts";
import { JSON_LEVELS_MAX } from "../../settings/limits.ts";
import { JSON_KEYS_MAX, JSON_PARTS_MAX } from "../limits.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_OBJECT = 0x7b;
const OPEN_ARRAY = 0x5b;
const CLOSE_OBJECT = 0x7d;
const CLOSE_ARRAY = 0x5d;

/**
 * Value that stands for an open array in `open`, the stack of arrays and objects that are not
 * closed yet. An object is represented by its number of keys so far.
 */
const ARRAY = -1;

/**
 * Throws for a JSON text that would cost too much to parse and validate, because it is nested too
 * deeply or has too many keys, objects or arrays.
 */
export function expectJsonShape(text: string): void {
  const { levels, keys, parts } = jsonShape(text);
  if (levels > JSON_LEVELS_MAX) {
    throw new ApiError("invalid", `Expected JSON of at most ${JSON_LEVELS_MAX} levels, got more`);
  }
  if (keys > JSON_KEYS_MAX) {
    throw new ApiError(
      "invalid",
      `Expected JSON objects of at most ${JSON_KEYS_MAX} keys, got one with more`,
    );
  }
  if (parts > JSON_PARTS_MAX) {
    throw new ApiError(
      "invalid",
      `Expected JSON of at most ${JSON_PARTS_MAX} keys, objects and arrays, got more`,
    );
  }
}

/**
 * Counts, without parsing a JSON text, its nested levels, the keys of its largest object, and its
 * parts (keys, objects and arrays). A body of 4 MiB may have two million levels, 350,000 keys or
 * 1,400,000 objects, which cost too much to parse. Stops counting beyond `JSON_LEVELS_MAX` levels.
 */
export function jsonShape(text: string): { levels: number; keys: number; parts: number } {
  /**
   * Containers that are open at the current character, the innermost last. The entry for an object
   * is its number of keys so far, the entry for an array is `ARRAY`.
   */
  const open: number[] = [];
  let levels = 0;
  let keys = 0;
  let parts = 0;
  let inString = false;
  for (let i = 0; i < text.length && levels <= JSON_LEVELS_MAX; i++) {
    const code = text.charCodeAt(i);
    if (inString) {
      if (code === BACKSLASH) i++;
      else if (code === QUOTE) inString = false;
      continue;
    }
    const innermost = open.length - 1;
    switch (code) {
      case QUOTE:
        inString = true;
        // The first string in an object is its first key.
        if (open[innermost] === 0) open[innermost] = 1;
        break;
      case COMMA:
        if (innermost >= 0 && open[innermost] !== ARRAY) open[innermost]! += 1;
        break;
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        open.push(code === OPEN_OBJECT ? 0 : ARRAY);
        levels = Math.max(levels, open.length);
        parts += 1;
        break;
      case CLOSE_OBJECT:
      case CLOSE_ARRAY: {
        const closed = open.pop() ?? 0;
        keys = Math.max(keys, closed);
        if (closed > 0) parts += closed;
      }
    }
  }
  return { levels, keys: Math.max(keys, ...open), parts };
}
