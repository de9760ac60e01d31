import { type StringOptions, Type } from "@sinclair/typebox";

/** Returns the schema of a setting that is a text of at least one character, or absent. */
export function optionalText(description: string, options: StringOptions = {}) {
  return Type.Optional(Type.String({ minLength: 1, ...options, description }));
}
