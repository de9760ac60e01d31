import { readMembers, tokenAt, valueEnd } from "../formats/json-members.ts";
import {
  WEBHOOK_BODY_BYTES_MAX,
  WEBHOOK_TEMPLATE_LEVELS_MAX,
  WEBHOOK_TEMPLATE_PLACES_MAX,
} from "./limits.ts";
import { RequestBuildError } from "./request-build-error.ts";
import { parseTemplatePath } from "./template-path.ts";

/** A template is invalid; the message says where and what was expected. */
export class TemplateError extends Error {
  override readonly name = "TemplateError";
}

/** A placeholder of a template. */
interface Placeholder {
  path: readonly string[];
  /** Whether it is within a string, where it stands for the text of a value and not its JSON. */
  isInString: boolean;
}

/** A parsed template: `texts[0] placeholders[0] texts[1] …`. */
export interface Template {
  texts: readonly string[];
  placeholders: readonly Placeholder[];
  tree: PlaceholderTree;
}

/** Placeholders by the keys of their paths; `placeholders` holds the indexes of those that end here. */
interface PlaceholderTree {
  placeholders: number[];
  members: Map<string, PlaceholderTree>;
}

/** JSON texts by index of placeholder. */
type PlaceholderValues = (string | undefined)[];

/**
 * Parses a template: JSON in which `{{event.properties.price}}` stands for a value. Each path begins
 * with `root`. Throws `TemplateError`.
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

/** Fills a template with values of a JSON text. A missing value is null, or empty within a string. */
export function render({ texts, placeholders, tree }: Template, json: string): string {
  const values: PlaceholderValues = [];
  collect(json, tokenAt(json, 0), tree, values);
  let length = 0;
  const parts: string[] = [];
  const add = (part: string) => {
    length += part.length;
    // A character is at least a byte; the caller counts the bytes of the whole body.
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
 * Collects the JSON texts of the placeholders from the value at offset `at`, reading each part once;
 * returns the offset after the value. Of a repeated name the last one counts, as in JSON.parse.
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

/** A value as part of a string: texts as they are, a missing value empty, all others as JSON. */
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
    if (end < 0) throw new TemplateError(`Expected }} after {{ ${positionOf(text, at)}`);
    const inner = text.slice(at + 2, end).trim();
    const path = parseTemplatePath(inner, root);
    if (path === undefined) {
      const got = JSON.stringify(inner.slice(0, 64));
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
 * Yields the offset of each `{{`, and whether it is inside a string. Outside strings two braces in a
 * row are not JSON; inside, `\u007b{` writes them.
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

/** Checks that a template filled with simple values is JSON, and that no name holds a placeholder. */
function expectJson(texts: readonly string[], placeholders: readonly Placeholder[]): void {
  // Begins with a letter that is no hexadecimal digit, so that it cannot become part of an escape.
  const mark = `z${crypto.randomUUID()}`;
  const fillings = placeholders.map(({ isInString }) => (isInString ? mark : "null"));
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

function positionOf(text: string, at: number): string {
  const lines = text.slice(0, at).split("\n");
  return `at line ${lines.length}, column ${lines.at(-1)!.length + 1}`;
}
