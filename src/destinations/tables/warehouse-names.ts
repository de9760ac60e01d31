import { createHash } from "node:crypto";
import snakeCase from "lodash/snakeCase.js";
import { reservedWords } from "./reserved-words.ts";

/** The rules of a database for names. */
export interface NameRules {
  charsMax: number;
  /** Whether words of SQL get an underscore in front, as RudderStack does for PostgreSQL. */
  escapesWords: boolean;
}

/** Tables that are made for a type of event; events of these names get an underscore in front. */
const ownTables = new Set([
  ...["tracks", "pages", "screens", "aliases", "groups", "accounts", "users", "identifies"],
]);

/** Keys whose names are remembered: making a name is the most expensive part of a row. */
const REMEMBERED_NAMES_MAX = 10_000;
const REMEMBERED_CHARS_MAX = 256;

/**
 * Names of tables and columns as RudderStack's warehouse makes them: snake_case of ASCII letters and
 * digits. A double underscore inside a name never arises, so that names with one are free for us.
 */
export class WarehouseNames {
  readonly #rules: NameRules;
  readonly #columns = new Map<string, string>();
  readonly #tables = new Map<string, string>();

  constructor(rules: NameRules) {
    this.#rules = rules;
  }

  /** The column of a path whose keys are joined by `_`; empty when no letter of it can be kept. */
  column(path: string): string {
    return remembered(this.#columns, path, () => this.#safe(snake(path)));
  }

  /** The table of an event's name; empty when no letter of it can be kept. */
  table(event: string): string {
    return remembered(this.#tables, event, () => {
      const name = this.#safe(snake(event));
      return ownTables.has(name) ? `_${name}` : name;
    });
  }

  /** The column for values that do not fit into this one. */
  textColumn(column: string): string {
    return this.#cut(column, textTwin);
  }

  #safe(name: string): string {
    if (name === "") return "";
    const isWord = this.#rules.escapesWords && reservedWords.has(name);
    return this.#cut(isWord ? `_${name}` : name, "");
  }

  /** Cuts a name; names that begin alike stay apart by a hash of the whole name. */
  #cut(name: string, suffix: string): string {
    const room = this.#rules.charsMax - suffix.length;
    if (name.length <= room) return name + suffix;
    const digest = createHash("sha256").update(name).digest("hex").slice(0, HASH_CHARS);
    return `${name.slice(0, room - HASH_CHARS - 1)}_${digest}${suffix}`;
  }
}

function remembered(known: Map<string, string>, key: string, make: () => string): string {
  let name = known.get(key);
  if (name === undefined) {
    name = make();
    if (known.size >= REMEMBERED_NAMES_MAX) known.clear();
    if (key.length <= REMEMBERED_CHARS_MAX) known.set(key, name);
  }
  return name;
}

const HASH_CHARS = 8;
const textTwin = "__text";
/** The column that takes, as a JSON object, what has no column of its own. */
export const restColumn = "rest__json";

/** Characters of a longer key that make its name; a hash makes the difference. */
const KEY_CHARS_MAX = 1_024;

/** `CamelCase123Key`, `ome$ga`, `9mega` → `camel_case_123_key`, `ome_ga`, `_9_mega`. */
export function snake(key: string): string {
  const head = key.length > KEY_CHARS_MAX ? hashed(key) : key;
  const leading = /^_*/.exec(head)![0];
  const name = snakeCase(head.replace(/[^A-Za-z0-9]+/g, "_"));
  if (name === "") return "";
  // A name that comes with an underscore keeps it, so that a property `_timestamp` differs from
  // `timestamp`.
  return leading === "" && /^[0-9]/.test(name) ? `_${name}` : leading + name;
}

function hashed(key: string): string {
  const digest = createHash("sha256").update(key).digest("hex");
  return `${key.slice(0, KEY_CHARS_MAX)}_${digest}`;
}
