import type { Static, TObject, TSchema } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import { type ValueError, ValueErrorType } from "@sinclair/typebox/errors";
import { ApiError, type Detail, describeValue } from "../../errors.ts";
import { isObject } from "../../is-object.ts";
import { DETAILS_MAX } from "../../settings/limits.ts";
import { nearestName } from "../../settings/nearest-name.ts";
import { FAULTS_WALKED_MAX, QUERY_PARAMETERS_MAX } from "../limits.ts";
import { expectedFormat } from "../schema/formats.ts";

const checks = new WeakMap<TSchema, TypeCheck<TSchema>>();

/**
 * Validates a value, and returns it with the schema's type. Throws `ApiError` with the paths of the
 * first invalid values. The path of a query parameter starts with `?`.
 */
export function expectShape<S extends TSchema>(
  schema: S,
  value: unknown,
  at: "" | "?" = "",
): Static<S> {
  const check = checks.getOrInsertComputed(schema, (it) => TypeCompiler.Compile(it));
  if (check.Check(value)) return value as Static<S>;
  const details = new Map<string, Detail>();
  for (const error of firstErrors(check.Errors(value))) {
    const detail = toDetail(error, at);
    if (!details.has(detail.path)) details.set(detail.path, detail);
    if (details.size === DETAILS_MAX) break;
  }
  throw validationError([...details.values()] as [Detail, ...Detail[]]);
}

/**
 * Validates a body, and returns it without fields that its schema does not have. A handler must not
 * store such fields, because they were not validated.
 */
export function expectBody<S extends TSchema>(schema: S, value: unknown): Static<S> {
  const body = expectShape(schema, value) as Record<string, unknown>;
  const known = Object.keys(schema.properties ?? {}).filter((key) => Object.hasOwn(body, key));
  return Object.fromEntries(known.map((key) => [key, body[key]])) as Static<S>;
}

/**
 * Yields at most the first `FAULTS_WALKED_MAX` errors of a validation, because a body may have
 * hundreds of thousands. Ends after an error about an array that is too long.
 */
function* firstErrors(errors: Iterable<ValueError>): Generator<ValueError> {
  let walked = 0;
  for (const error of bestErrors(errors)) {
    yield error;
    walked += 1;
    if (walked === FAULTS_WALKED_MAX || error.type === ValueErrorType.ArrayMaxItems) return;
  }
}

/**
 * Yields the errors of a validation. For an array or object that fits no type of a union, yields
 * its errors against the union's first type of the same kind, because TypeBox's own error does not
 * say what is wrong.
 */
function* bestErrors(errors: Iterable<ValueError>): Generator<ValueError> {
  for (const error of errors) {
    const alternatives: TSchema[] = error.schema.anyOf ?? [];
    const kind = kindOf(error.value);
    const alike = kind && error.errors[alternatives.findIndex(({ type }) => type === kind)];
    if (alike) yield* bestErrors(alike);
    else yield error;
  }
}

function kindOf(value: unknown): "array" | "object" | undefined {
  if (Array.isArray(value)) return "array";
  return typeof value === "object" && value !== null ? "object" : undefined;
}

/**
 * Matches the place in an error message at which the path of the invalid value is inserted: before
 * a part such as `, got nothing`, or at the end.
 */
const detailStart = /, (?:got|did you mean|expected one of) |$/;

/**
 * Returns the error for a request that has the faults `details`. Its message is that of the first
 * fault, with the path of the invalid value inserted, such as `Expected a name … at /name, got
 * nothing`.
 */
function validationError(details: readonly [Detail, ...Detail[]]): ApiError {
  const [{ path, message }] = details;
  const sentence = path === "" ? message : message.replace(detailStart, ` at ${path}$&`);
  return new ApiError("invalid", sentence, details);
}

/** Returns the error for a request in which the value at `path` is invalid. */
export function invalidValue(path: string, message: string): ApiError {
  return validationError([{ path, message }]);
}

/**
 * Throws the error for an invalid request that has these faults. Does nothing if there are none.
 */
export function expectNone([first, ...others]: readonly Detail[]): void {
  if (first !== undefined) throw validationError([first, ...others]);
}

/**
 * Returns a query's parameters with the types of the schema: `true` becomes a boolean, digits
 * become a number, and the case of enumeration values is ignored. Throws if a value does not fit.
 */
export function readQuery<S extends TObject>(schema: S, url: string): Static<S> {
  const start = url.indexOf("?");
  const text = start < 0 ? "" : url.slice(start + 1);
  expectFewParameters(text);
  const sent = new URLSearchParams(text);
  const query: Record<string, unknown> = {};
  for (const [key, property] of Object.entries(schema.properties)) {
    const values = sent.getAll(key);
    if (values.length > 1) {
      throw invalidValue(`?${key}`, "Expected one value, got several");
    }
    if (values[0] !== undefined) query[key] = convertParam(property, values[0]);
  }
  refuseMisspelt(Object.keys(schema.properties), sent.keys());
  return expectShape(schema, query, "?");
}

/** Throws if a query has too many parameters. Called before the query is parsed. */
function expectFewParameters(query: string): void {
  let pairs = 1;
  for (let at = query.indexOf("&"); at >= 0; at = query.indexOf("&", at + 1)) {
    pairs += 1;
    if (pairs <= QUERY_PARAMETERS_MAX) continue;
    throw new ApiError(
      "invalid",
      `Expected a query of at most ${QUERY_PARAMETERS_MAX} parameters, got more`,
    );
  }
}

/**
 * Throws if an unknown parameter is probably a misspelt known one: `?publsh=true`, for example,
 * would store a draft instead of publishing. Other unknown parameters are ignored.
 */
function refuseMisspelt(known: readonly string[], sent: Iterable<string>): void {
  for (const name of sent) {
    const similar = known.includes(name) ? undefined : nearestName(name, known);
    if (similar === undefined) continue;
    const message = `Expected the parameter ${similar}, got a name that is almost the same`;
    throw new ApiError("invalid", message, [{ path: `?${similar}`, message }]);
  }
}

/** Converts a parameter's string to its schema's type. Ignores the case of enumeration values. */
function convertParam(schema: TSchema, text: string): unknown {
  if (schema.type === "boolean" && /^(true|false)$/.test(text)) return text === "true";
  if (schema.type === "integer" && /^\d+$/.test(text)) return Number(text);
  const choice = choicesOf(schema).find((it) => it.toLowerCase() === text.toLowerCase());
  return choice ?? text;
}

/**
 * Converts an error of the validation library into a path and a message. `at` is `?` for a query
 * and empty for a body. The path never contains a key that the caller made up.
 */
function toDetail(error: ValueError, at: string): Detail {
  if (error.type === ValueErrorType.ObjectAdditionalProperties) {
    const end = error.path.lastIndexOf("/");
    const known = Object.keys(error.schema.properties);
    return unknownKey(error.path.slice(end + 1), known, error.path.slice(0, end));
  }
  const path = at === "?" ? error.path.replace("/", "?") : error.path;
  return { path, message: `Expected ${expected(error.schema)}, got ${describeValue(error.value)}` };
}

function expected(schema: TSchema): string {
  if (schema["x-expected"] !== undefined) return schema["x-expected"];
  if (schema.anyOf) return alternatives(schema.anyOf as TSchema[]);
  switch (schema.type) {
    case "string":
      return expectedString(schema);
    case "boolean":
      return "true or false";
    case "integer":
      return `an integer${bounds(schema.minimum, schema.maximum)}`;
    case "array":
      return `an array${bounds(schema.minItems, schema.maxItems, " items")}`;
    case "null":
      return "null";
    default:
      return "an object";
  }
}

function alternatives(schemas: TSchema[]): string {
  const constants = schemas.every((schema) => schema.const !== undefined);
  if (constants) return `one of ${schemas.map((schema) => schema.const).join(", ")}`;
  return [...new Set(schemas.map(expected))].join(" or ");
}

function expectedString(schema: TSchema): string {
  const format = schema.format && expectedFormat(schema.format);
  return format || `a string${bounds(schema.minLength, schema.maxLength, " characters")}`;
}

function bounds(min?: number, max?: number, unit = ""): string {
  if (min !== undefined && max !== undefined) return ` of ${min} to ${max}${unit}`;
  if (min !== undefined) return ` of at least ${min}${unit}`;
  return max === undefined ? "" : ` of at most ${max}${unit}`;
}

/** Returns the values of a parameter's enumeration; an empty list if it has none. */
const choicesOf = ({ anyOf = [] }: TSchema): string[] =>
  anyOf.map((it: TSchema) => it.const).filter((it: unknown) => typeof it === "string");

/**
 * Maximum length of an unknown key for which the error suggests a similar known key. An error about
 * a longer key contains neither a suggestion nor the key.
 */
const LIKE_KEY_CHARS_MAX = 100;
/**
 * Maximum number of known keys of an object that an error about an unknown key lists. If the object
 * has more known keys, the error lists none.
 */
const LISTED_KEYS_MAX = 8;

/**
 * Yields an error for each key that the schema does not have, in nested objects and arrays too. The
 * errors never contain a value, because it may be a secret.
 */
export function* unknownKeys(schema: TSchema, value: unknown, path: string): Generator<Detail> {
  if (Array.isArray(value) && schema.type === "array") {
    for (const [index, item] of value.entries()) {
      yield* unknownKeys(schema.items, item, `${path}/${index}`);
    }
  }
  if (!isObject(value) || schema.type !== "object" || schema.properties === undefined) return;
  if (schema.additionalProperties === true) return;
  const known = Object.keys(schema.properties);
  for (const key in value) {
    if (known.includes(key))
      yield* unknownKeys(schema.properties[key], value[key], `${path}/${key}`);
    else yield unknownKey(key, known, path);
  }
}

/**
 * Returns the error for an unknown key of the object at `path`. It suggests a similar known key, or
 * lists the known keys if they are few. It repeats the key only if the key looks like a name,
 * because a caller can send any text.
 */
export function unknownKey(key: string, known: readonly string[], path: string): Detail {
  const isShort = key.length <= LIKE_KEY_CHARS_MAX;
  const isName = isShort && /^[\w.-]+$/.test(key);
  const unknown = isName ? `Unknown key "${key}"` : "Unknown key";
  const meant = isShort
    ? (nearestName(key, known) ?? known.find((name) => isPartOf(name, key)))
    : undefined;
  if (meant !== undefined) return { path, message: `${unknown}, did you mean ${meant}?` };
  const others = known.length <= LISTED_KEYS_MAX ? `, expected one of ${known.join(", ")}` : "";
  return { path, message: `${unknown}${others}` };
}

function isPartOf(name: string, key: string): boolean {
  const [one, other] = [name.toLowerCase(), key.toLowerCase()];
  return other.length > 2 && (one.includes(other) || other.includes(one));
}
