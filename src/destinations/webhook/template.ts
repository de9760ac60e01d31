import { readMembers, tokenAt, valueEnd } from "../formats/json-members.ts";
import {
  WEBHOOK_BODY_BYTES_MAX,
  WEBHOOK_TEMPLATE_LEVELS_MAX,
  WEBHOOK_TEMPLATE_PLACES_MAX,
} from "./limits.ts";
import { RequestBuildError } from "./request-build-error.ts";
import { parseTemplatePath } from "./template-path.ts";

/** A template is wrong; the message says where and what was expected. */
export class TemplateError extends Error {
  override readonly name = "TemplateError";
}

/** A place of a template that is filled in. */
interface Placeholder {
  path: readonly string[];
  /** Within a string, where the value's text goes, and not its JSON. */
  isInString: boolean;
}

/** JSON with places: `texts[0] place[0] texts[1] …`. */
export interface Template {
  texts: readonly string[];
  placeholders: readonly Placeholder[];
  tree: PlaceholderTree;
}

/** Values that places want of an object or a list, by their paths. */
interface PlaceholderTree {
  placeholders: number[];
  members: Map<string, PlaceholderTree>;
}

/** JSON texts by their places. */
type PlaceholderValues = (string | undefined)[];

/**
 * Reads a template: JSON in which `{{event.properties.price}}` stands for a value. Every path
 * begins with `root`. Throws `TemplateError`.
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
      const next = at.members.get(key) ?? { placeholders: [], members: new Map() };
      at.members.set(key, next);
      at = next;
    }
    at.placeholders.push(index);
  }
  return { texts, placeholders, tree };
}

/** The template with values of a JSON text. What is missing is null, and empty within a string. */
export function render({ texts, placeholders, tree }: Template, json: string): string {
  const values: PlaceholderValues = [];
  collect(json, tokenAt(json, 0), tree, values);
  let length = 0;
  const parts: string[] = [];
  const add = (part: string) => {
    length += part.length;
    // A character is at least a byte; the body's bytes are counted when all of it is there.
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
 * Takes the JSON texts of wanted values, and reads each part of the text once; returns where the
 * value ends. Of a repeated name the last counts, as in JSON.parse.
 */
function collect(
  json: string,
  at: number,
  wanted: PlaceholderTree,
  values: PlaceholderValues,
): number {
  const readMember = (key: string, valueStart: number) => {
    const inner = wanted.members.get(key);
    if (inner === undefined) return valueEnd(json, valueStart);
    forget(inner, values);
    return collect(json, valueStart, inner, values);
  };
  const isWhole = wanted.members.size === 0;
  const end = isWhole ? valueEnd(json, at) : readMembers(json, at, readMember);
  for (const place of wanted.placeholders) values[place] = json.slice(at, end);
  return end;
}

function forget(wanted: PlaceholderTree, values: PlaceholderValues): void {
  for (const place of wanted.placeholders) values[place] = undefined;
  for (const inner of wanted.members.values()) forget(inner, values);
}

/** A value as a part of a string: texts as they are, what is missing empty, all else as JSON. */
function insideString(json: string | undefined): string {
  if (json === undefined || json === "null") return "";
  // The characters of a string are escaped already.
  if (json.startsWith('"')) return json.slice(1, -1);
  return json.startsWith("{") || json.startsWith("[") ? JSON.stringify(json).slice(1, -1) : json;
}

function split(text: string, root: string) {
  const texts: string[] = [];
  const placeholders: Placeholder[] = [];
  let from = 0;
  for (const { at, isInString } of openings(text)) {
    const end = text.indexOf("}}", at);
    if (end < 0) throw new TemplateError(`Expected }} after {{ ${placeOf(text, at)}`);
    const inner = text.slice(at + 2, end).trim();
    const path = parseTemplatePath(inner, root);
    if (path === undefined) {
      const got = JSON.stringify(inner.slice(0, 64));
      throw new TemplateError(
        `Expected a path such as ${root} or ${root}.name between {{ and }}, got ${got} ${placeOf(text, at)}`,
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
 * Where `{{` stands, and whether inside a string. Outside of strings two braces in a row are no
 * JSON, so that nothing else can be meant; inside, `\u007b{` writes them.
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

/** Filled with the simplest values, a template must be JSON, and no name may hold a place. */
function expectJson(texts: readonly string[], places: readonly Placeholder[]): void {
  // Begins with a letter that is no digit of an escape, so that no place can be part of one.
  const mark = `z${crypto.randomUUID()}`;
  const fillings = places.map(({ isInString }) => (isInString ? mark : "null"));
  let isInName = false;
  try {
    JSON.parse(interleaved(texts, fillings), (name, value) => {
      isInName ||= name.includes(mark);
      return value;
    });
  } catch (error) {
    throw new TemplateError(`Expected JSON: ${(error as Error).message}`);
  }
  if (isInName) throw new TemplateError("Expected no {{ in names, only in values");
}

const interleaved = (texts: readonly string[], fillings: readonly string[]) =>
  texts.map((text, index) => text + (fillings[index] ?? "")).join("");

function placeOf(text: string, at: number): string {
  const lines = text.slice(0, at).split("\n");
  return `at line ${lines.length}, column ${lines.at(-1)!.length + 1}`;
}
