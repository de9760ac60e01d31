import {
  type IntegerOptions,
  type SchemaOptions,
  type StringOptions,
  Type,
} from "@sinclair/typebox";

/** Returns the schema of a text that is one of the values. */
export function oneOf<const Value extends string>(
  values: readonly Value[],
  options: SchemaOptions = {},
) {
  return Type.Union(
    values.map((value) => Type.Literal(value)),
    options,
  );
}

/** Returns the schema of a setting that is a text of at least one character, or absent. */
export function optionalText(description: string, options: StringOptions = {}) {
  return Type.Optional(Type.String({ minLength: 1, ...options, description }));
}

/** Returns the schema of a setting that is an integer within two bounds, or absent. */
export function optionalInteger(minimum: number, maximum: number, options: IntegerOptions) {
  return Type.Optional(Type.Integer({ minimum, maximum, ...options }));
}
