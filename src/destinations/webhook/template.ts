import { cutText } from "../../errors.ts";
import { readMembers, tokenAt, valueEnd } from "../formats/json-members.ts";
import {
  WEBHOOK_BODY_BYTES_MAX,
  WEBHOOK_TEMPLATE_LEVELS_MAX,
  WEBHOOK_TEMPLATE_PLACES_MAX,
} from "./limits.ts";
import { RequestBuildError } from "./request-build-error.ts";

/**
 * Thrown for an invalid template. The message names the fault. For a malformed placeholder, it also
 * names the line and the column.
 */
export class TemplateError extends Error {
  override readonly name = "TemplateError";
}

/** A place in a template for a value of the event, such as `{{event.properties.price}}`. */
interface Placeholder {
  path: readonly string[];
  /**
   * Whether the placeholder is inside a JSON string of the template. If so, the value's text
   * replaces the placeholder, otherwise the value's JSON.
   */
  isInString: boolean;
}

/** A parsed template. Text and placeholders alternate: `texts[0] placeholders[0] texts[1] …`. */
export interface Template {
  texts: readonly string[];
  placeholders: readonly Placeholder[];
  tree: PlaceholderTree;
}

/**
 * Node of a tree with the paths of all placeholders. The tree has one level per key.
 * - `placeholders`: indexes of the placeholders whose path ends at this node.
 * - `members`: the subtree for each next key of longer paths.
 */
interface PlaceholderTree {
  placeholders: number[];
  members: Map<string, PlaceholderTree>;
}

/**
 * JSON text of the value of each placeholder, by the placeholder's index; undefined when the event
 * has no such value.
 */
type PlaceholderValues = (string | undefined)[];

/**
 * Parses a template: JSON in which placeholders such as `{{event.properties.price}}` stand for
 * values. Each path must begin with `root`. Throws `TemplateError` when the template is invalid.
 */
export function parseTemplate(text: string, root: string): Template {
  const { texts, placeholders } = split(text, root);
  if (placeholders.length > WEBHOOK_TEMPLATE_PLACES_MAX) {
    throw new TemplateError(
      `Expected at most ${WEBHOOK_TEMPLATE_PLACES_MAX} places in a template, got ${placeholders.length}`,
    );
  }
  if (placeholders.some(({ path }) => path.length > WEBHOOK_TEMPLATE_LEVELS_MAX)) {
    throw new TemplateError(`Expected paths of at most ${WEBHOOK_TEMPLATE_LEVELS_MAX} levels`);
  }
  expectJson(texts, placeholders);
  const tree: PlaceholderTree = { placeholders: [], members: new Map() };
  for (const [index, { path }] of placeholders.entries()) {
    let at = tree;
    for (const key of path) {
      at = at.members.getOrInsert(key, { placeholders: [], members: new Map() });
    }
    at.placeholders.push(index);
  }
  return { texts, placeholders, tree };
}

/**
 * Replaces the placeholders of a template with values from the JSON text `json`. A placeholder
 * without a value is replaced by null or, inside a string, by nothing.
 */
export function render({ texts, placeholders, tree }: Template, json: string): string {
  const values: PlaceholderValues = [];
  collect(json, tokenAt(json, 0), tree, values);
  let length = 0;
  const parts: string[] = [];
  const add = (part: string) => {
    length += part.length;
    // A character has at least one byte, so the length in characters is a cheap lower bound. The
    // caller checks the bytes of the whole body.
    if (length > WEBHOOK_BODY_BYTES_MAX) throw bodyTooLong();
    parts.push(part);
  };
  for (const [index, { isInString }] of placeholders.entries()) {
    add(texts[index]!);
    const value = values[index];
    add(isInString ? insideString(value) : (value ?? "null"));
  }
  add(texts[placeholders.length]!);
  return parts.join("");
}

export const bodyTooLong = () =>
  new RequestBuildError(
    `Expected events that make a body of at most ${WEBHOOK_BODY_BYTES_MAX} bytes`,
  );

/**
 * Finds the values of the placeholders in `tree` in the JSON value at offset `at`, and stores their
 * JSON texts in `values`. Returns the offset after the JSON value. The last of duplicate keys
 * counts.
 */
function collect(
  json: string,
  at: number,
  tree: PlaceholderTree,
  values: PlaceholderValues,
): number {
  const readMember = (key: string, valueStart: number) => {
    const inner = tree.members.get(key);
    if (inner === undefined) return valueEnd(json, valueStart);
    forget(inner, values);
    return collect(json, valueStart, inner, values);
  };
  const isWhole = tree.members.size === 0;
  const end = isWhole ? valueEnd(json, at) : readMembers(json, at, readMember);
  for (const index of tree.placeholders) values[index] = json.slice(at, end);
  return end;
}

function forget(tree: PlaceholderTree, values: PlaceholderValues): void {
  for (const index of tree.placeholders) values[index] = undefined;
  for (const inner of tree.members.values()) forget(inner, values);
}

/**
 * Converts the JSON text of a value for use inside a JSON string. A string loses its quotes. Null
 * or a missing value becomes empty. An object or array becomes JSON with escapes.
 */
function insideString(json: string | undefined): string {
  if (json === undefined || json === "null") return "";
  // The content of a JSON string is already escaped.
  if (json.startsWith('"')) return json.slice(1, -1);
  return json.startsWith("{") || json.startsWith("[") ? JSON.stringify(json).slice(1, -1) : json;
}

function split(text: string, root: string) {
  const texts: string[] = [];
  const placeholders: Placeholder[] = [];
  let from = 0;
  for (const { at, isInString } of openings(text)) {
    const end = text.indexOf("}}", at);
    if (end < 0) throw new TemplateError(`Expected }} after {{ ${positionOf(text, at)}`);
    const inner = text.slice(at + 2, end).trim();
    const path = parseTemplatePath(inner, root);
    if (path === undefined) {
      const got = JSON.stringify(cutText(inner, 64));
      throw new TemplateError(
        `Expected a path such as ${root} or ${root}.name between {{ and }}, got ${got} ${positionOf(text, at)}`,
      );
    }
    texts.push(text.slice(from, at));
    placeholders.push({ path, isInString });
    from = end + 2;
  }
  texts.push(text.slice(from));
  return { texts, placeholders };
}

/**
 * Yields the offset of each `{{` in a template, and whether it is inside a string. Each begins a
 * placeholder: JSON has no `{{` outside strings, and inside them, `\u007b{` stands for a literal
 * `{{`.
 */
function* openings(text: string): Generator<{ at: number; isInString: boolean }> {
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    if (text.startsWith("{{", at)) {
      yield { at, isInString };
      const end = text.indexOf("}}", at);
      if (end < 0) return;
      at = end + 1;
    } else if (text[at] === '"') isInString = !isInString;
    else if (isInString && text[at] === "\\") at += 1;
  }
}

/**
 * Throws `TemplateError` unless the template becomes valid JSON when simple values replace its
 * placeholders. Also throws if a placeholder is in the name of an object's member.
 */
function expectJson(texts: readonly string[], placeholders: readonly Placeholder[]): void {
  // The value begins with a letter that is no hexadecimal digit, so that it cannot become part of
  // an escape.
  const mark = `z${crypto.randomUUID()}`;
  const fillings = placeholders.map(({ isInString }) => (isInString ? mark : "null"));
  const filled = texts.map((text, index) => text + (fillings[index] ?? "")).join("");
  let isInName = false;
  try {
    JSON.parse(filled, (name, value) => {
      isInName ||= name.includes(mark);
      return value;
    });
  } catch (error) {
    throw new TemplateError(`Expected JSON: ${(error as Error).message}`);
  }
  if (isInName) throw new TemplateError("Expected no {{ in names, only in values");
}

function positionOf(text: string, at: number): string {
  const lines = text.slice(0, at).split("\n");
  return `at line ${lines.length}, column ${lines.at(-1)!.length + 1}`;
}

const step = /\.([\p{ID_Start}$_][\p{ID_Continue}$-]*|\d+)|\[(\d+)\]|\['([^'\\\n]*)'\]/uy;

/**
 * Parses a path such as `event.items[0].price` or `event.properties['a b']` into a list of keys.
 * The path must begin with `root`, which is not in the list. Returns undefined for an invalid path.
 */
export function parseTemplatePath(text: string, root: string): string[] | undefined {
  if (!text.startsWith(root)) return undefined;
  const keys: string[] = [];
  for (let at = root.length; at < text.length; at = step.lastIndex) {
    step.lastIndex = at;
    const match = step.exec(text);
    if (match === null) return undefined;
    keys.push(match[1] ?? match[2] ?? match[3]!);
  }
  return keys;
}
