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

/** Returns the schema of an optional setting: an integer from `minimum` to `maximum`. */
export function optionalInteger(minimum: number, maximum: number, options: IntegerOptions) {
  return Type.Optional(Type.Integer({ minimum, maximum, ...options }));
}
