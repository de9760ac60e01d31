import {
  type IntegerOptions,
  type SchemaOptions,
  type StringOptions,
  type TProperties,
  Type,
} from "@sinclair/typebox";

/** Returns the schema of a string that equals one of `values`. */
export function oneOf<const Value extends string>(
  values: readonly Value[],
  options: SchemaOptions = {},
) {
  return Type.Union(
    values.map((value) => Type.Literal(value)),
    options,
  );
}

/**
 * Returns the schema of an object. The OpenAPI document lists this schema in `components` under
 * `name`.
 */
export function component<Properties extends TProperties>(name: string, properties: Properties) {
  return Type.Object(properties, { $id: name });
}

/** Returns the schema of a string with a description. */
export function text(description: string) {
  return Type.String({ description });
}

/** Returns the schema of an optional setting: a string of at least one character. */
export function optionalText(description: string, options: StringOptions = {}) {
  return Type.Optional(Type.String({ minLength: 1, ...options, description }));
}

/** Returns the schema of an optional boolean. */
export function optionalFlag(description: string, options: SchemaOptions = {}) {
  return Type.Optional(Type.Boolean({ ...options, description }));
}

/** Returns the schema of an optional integer from `minimum` to `maximum`. */
export function optionalInteger(minimum: number, maximum: number, options: IntegerOptions) {
  return Type.Optional(Type.Integer({ minimum, maximum, ...options }));
}

/**
 * Returns the schema of a setting that is an integer. Its minimum is `options.minimum`, which is 0
 * by default.
 */
export function integer(description: string, options: IntegerOptions) {
  return Type.Integer({ minimum: 0, ...options, description });
}

/** Returns the schema of a setting that is true or false. */
export function flag(description: string, fallback = false) {
  return Type.Boolean({ default: fallback, description });
}

/** Returns the schema of a setting: a list of strings with options `item`; default `fallback`. */
export function list(description: string, item: StringOptions, fallback: string[] = []) {
  return Type.Array(Type.String(item), { default: fallback, description });
}

/** Returns the schema of an optional setting: a string that is secret and therefore never shown. */
export function secretText(description: string, options: StringOptions = {}) {
  return optionalText(description, { maxLength: 1_024, ...options, writeOnly: true });
}

/** Returns the schema of an optional setting: an HTTP or HTTPS URL. */
export function httpUrl(description: string, pattern = "^https?://[^ ]+$") {
  const title = "a URL that begins with http:// or https://";
  return optionalText(description, { pattern, title });
}

/** Returns the schema of a setting: the address to listen on. */
export function host(fallback: string, description: string) {
  const title = "an IP address without brackets, or a host name";
  return Type.String({ default: fallback, pattern: "^[^\\s/\\[\\]]+$", title, description });
}

/** Schema options of a string with a host and a port, such as `example.com:9092`. */
export const hostAndPort = {
  pattern: "^([A-Za-z0-9._-]{1,253}|\\[[0-9a-fA-F:.]{2,45}\\]):[1-9][0-9]{0,4}$",
  title: "HOST:PORT",
};
