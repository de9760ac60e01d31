import { type TSchema, Type } from "@sinclair/typebox";

/**
 * Returns the schema of an optional setting that most destinations of the kind use. Forms show it
 * beside the required settings, and fold the other optional ones.
 */
export function essential<T extends TSchema>(schema: T) {
  return Object.assign(Type.Optional(schema), { "x-essential": true });
}
