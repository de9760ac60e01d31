import { createHash } from "node:crypto";
import snakeCase from "lodash/snakeCase.js";

/** Rules of a database for the names of tables and columns. */
export interface NameRules {
  charsMax: number;
  /**
   * Whether an underscore is put before a name that is a reserved word, as in RudderStack's
   * PostgreSQL warehouse.
   */
  escapesWords: boolean;
}

/**
 * Names of the tables with a fixed meaning, such as `pages` for all page events. If an event's name
 * would give its table one of these names, the table gets this name with an underscore before it.
 */
const typeTables = new Set([
  ...["tracks", "pages", "screens", "aliases", "groups", "accounts", "users", "identifies"],
]);

/**
 * Maximum number of entries in each of two caches: key paths (see `KeyPath`), and table names by
 * event name.
 */
const CACHED_NAMES_MAX = 10_000;
const CACHED_CHARS_MAX = 256;

/**
 * The keys that lead to a value in an event, and the name of the value's column. Key paths are
 * cached, because computing a column name is the most expensive part of making a row.
 */
export interface KeyPath {
  /** Keys of the path, joined by `_`. A text of more than `KEY_CHARS_MAX` characters is cut. */
  text: string;
  /** Name of the column; undefined until `columnOf` has computed it. */
  column: string | undefined;
  /** Cached paths with one more key than this path, by that key. Undefined when there are none. */
  below: Map<string, KeyPath> | undefined;
}

/**
 * Makes the names of tables and columns as RudderStack's warehouse does: snake_case in ASCII. No
 * event key results in a double underscore between words: names such as `rest__json` are reserved
 * for pixelmill.
 */
export class WarehouseNames {
  /**
   * Path of the object with an event's properties or traits. The columns of its members have no
   * prefix.
   */
  readonly rootPath: KeyPath = { text: "", column: undefined, below: undefined };
  /** Path of an event's context: its columns begin with `context_`. */
  readonly contextPath: KeyPath = { text: "context", column: undefined, below: undefined };
  #pathCount = 0;
  readonly #tables = new Map<string, string>();

  constructor(private readonly rules: NameRules) {}

  /** Returns the path of the member `key` of the object at `path`. */
  pathBelow(path: KeyPath, key: string): KeyPath {
    return path.below?.get(key) ?? this.#grow(path, key);
  }

  #grow(path: KeyPath, key: string): KeyPath {
    const text = bounded(path.text === "" ? key : `${path.text}_${key}`);
    const grown = { text, column: undefined, below: undefined };
    if (text.length > CACHED_CHARS_MAX) return grown;
    if (this.#pathCount >= CACHED_NAMES_MAX) {
      this.rootPath.below = undefined;
      this.contextPath.below = undefined;
      this.#pathCount = 0;
    }
    this.#pathCount += 1;
    path.below ??= new Map();
    path.below.set(key, grown);
    return grown;
  }

  /**
   * Returns the column name for a path. It is computed at the first call for the path and not when
   * the path is made, because the paths of objects need no column name.
   */
  columnOf(path: KeyPath): string {
    path.column ??= this.column(path.text);
    return path.column;
  }

  /**
   * Returns the column name for `path`, a text of keys already joined by `_`. The name is empty
   * when no character of `path` can be used in a name.
   */
  column(path: string): string {
    return this.#safe(snake(path));
  }

  /** Returns the table name for an event name; empty when none of its characters can be used. */
  table(event: string): string {
    const known = this.#tables.get(event);
    if (known !== undefined) return known;
    const safe = this.#safe(snake(event));
    const name = typeTables.has(safe) ? `_${safe}` : safe;
    if (this.#tables.size >= CACHED_NAMES_MAX) this.#tables.clear();
    if (event.length <= CACHED_CHARS_MAX) this.#tables.set(event, name);
    return name;
  }

  /** Returns the name of the text column for values that do not fit the type of `column`. */
  textColumn(column: string): string {
    return this.#cut(column, textSuffix);
  }

  #safe(name: string): string {
    if (name === "") return "";
    const isWord = this.rules.escapesWords && reservedWords.has(name);
    return this.#cut(isWord ? `_${name}` : name, "");
  }

  /**
   * Adds `suffix` to a name. If the result would be too long, shortens the name, and adds a hash of
   * the whole name to keep it unique.
   */
  #cut(name: string, suffix: string): string {
    const room = this.rules.charsMax - suffix.length;
    if (name.length <= room) return name + suffix;
    const digest = createHash("sha256").update(name).digest("hex").slice(0, HASH_CHARS);
    return `${name.slice(0, room - HASH_CHARS - 1)}_${digest}${suffix}`;
  }
}

const HASH_CHARS = 8;
const textSuffix = "__text";
/**
 * The column that holds, as a JSON object, all values of an event that have no column of their own.
 */
export const restColumn = "rest__json";

/**
 * Maximum length, in characters, of an event's name or of the joined keys of a path. A longer text
 * is cut to this length, including a hash of the whole text at its end.
 */
const KEY_CHARS_MAX = 1_089;

/**
 * Converts a key to snake_case: `CamelCase123Key` → `camel_case_123_key`, `ome$ga` → `ome_ga`,
 * `9mega` → `_9_mega`.
 */
export function snake(key: string): string {
  const head = bounded(key);
  const leading = /^_*/.exec(head)![0];
  const name = snakeCase(head.replace(/[^A-Za-z0-9]+/g, "_"));
  if (name === "") return "";
  // Leading underscores are kept, so that the property `_timestamp` differs from `timestamp`.
  return leading === "" && /^[0-9]/.test(name) ? `_${name}` : leading + name;
}

function bounded(key: string): string {
  if (key.length <= KEY_CHARS_MAX) return key;
  const end = `_${createHash("sha256").update(key).digest("hex")}`;
  return key.slice(0, KEY_CHARS_MAX - end.length) + end;
}

/** Words, in lower case, that PostgreSQL or RudderStack's PostgreSQL warehouse reserves. */
const reservedWords: ReadonlySet<string> = new Set(
  `all analyse analyze and any array as asc asymmetric authorization between binary both case cast
  check collate column constraint create cross current_date current_role current_time
  current_timestamp current_user default deferrable desc distinct do else end except false for
  foreign freeze from full grant group having ilike in initially inner intersect into is isnull
  join leading left like limit localtime localtimestamp natural new not notnull null off offset old
  on only or order outer overlaps placing primary references right select session_user similar some
  symmetric table then to trailing true union unique user using verbose when where`.split(/\s+/),
);
