import { createHash } from "node:crypto";
import snakeCase from "lodash/snakeCase.js";
import { reservedWords } from "./reserved-words.ts";

/** Rules of a database for names. */
export interface NameRules {
  charsMax: number;
  /** Whether reserved words get an underscore in front, as in RudderStack for PostgreSQL. */
  escapesWords: boolean;
}

/** Tables of event types; tables of events with these names get an underscore in front. */
const typeTables = new Set([
  ...["tracks", "pages", "screens", "aliases", "groups", "accounts", "users", "identifies"],
]);

/** Keys whose names are cached: making a name is the most expensive part of a row. */
const CACHED_NAMES_MAX = 10_000;
const CACHED_CHARS_MAX = 256;

/**
 * Makes names of tables and columns as RudderStack's warehouse does: snake_case of ASCII letters and
 * digits. They never have a double underscore inside, so that names with one are free for pixelmill.
 */
export class WarehouseNames {
  readonly #rules: NameRules;
  readonly #columns = new Map<string, string>();
  readonly #tables = new Map<string, string>();

  constructor(rules: NameRules) {
    this.#rules = rules;
  }

  /** The column of a path whose keys are joined by `_`; empty when no character is usable. */
  column(path: string): string {
    return cached(this.#columns, path, () => this.#safe(snake(path)));
  }

  /** The table of an event's name; empty when no character is usable. */
  table(event: string): string {
    return cached(this.#tables, event, () => {
      const name = this.#safe(snake(event));
      return typeTables.has(name) ? `_${name}` : name;
    });
  }

  /** The text column for values that do not fit into a column. */
  textColumn(column: string): string {
    return this.#cut(column, textSuffix);
  }

  #safe(name: string): string {
    if (name === "") return "";
    const isWord = this.#rules.escapesWords && reservedWords.has(name);
    return this.#cut(isWord ? `_${name}` : name, "");
  }

  /** Cuts a name, and adds a hash of the whole name to keep it unique. */
  #cut(name: string, suffix: string): string {
    const room = this.#rules.charsMax - suffix.length;
    if (name.length <= room) return name + suffix;
    const digest = createHash("sha256").update(name).digest("hex").slice(0, HASH_CHARS);
    return `${name.slice(0, room - HASH_CHARS - 1)}_${digest}${suffix}`;
  }
}

function cached(known: Map<string, string>, key: string, make: () => string): string {
  let name = known.get(key);
  if (name === undefined) {
    name = make();
    if (known.size >= CACHED_NAMES_MAX) known.clear();
    if (key.length <= CACHED_CHARS_MAX) known.set(key, name);
  }
  return name;
}

const HASH_CHARS = 8;
const textSuffix = "__text";
/** The column for values without a column, as a JSON object. */
export const restColumn = "rest__json";

/** Characters of a key that make its name; a longer key gets a hash. */
const KEY_CHARS_MAX = 1_024;

/** Converts a key to snake_case: `CamelCase123Key`, `ome$ga`, `9mega` → `camel_case_123_key`, `ome_ga`, `_9_mega`. */
export function snake(key: string): string {
  const head = key.length > KEY_CHARS_MAX ? hashed(key) : key;
  const leading = /^_*/.exec(head)![0];
  const name = snakeCase(head.replace(/[^A-Za-z0-9]+/g, "_"));
  if (name === "") return "";
  // Leading underscores stay, so that a property `_timestamp` differs from `timestamp`.
  return leading === "" && /^[0-9]/.test(name) ? `_${name}` : leading + name;
}

function hashed(key: string): string {
  const digest = createHash("sha256").update(key).digest("hex");
  return `${key.slice(0, KEY_CHARS_MAX)}_${digest}`;
}
