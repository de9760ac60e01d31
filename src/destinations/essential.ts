import { type TSchema, Type } from "@sinclair/typebox";

/**
 * Returns the schema of an optional setting that most users of a destination kind need. Forms show
 * the setting beside the required ones. Other optional settings are hidden until the user opens
 * them.
 */
export function essential<T extends TSchema>(schema: T) {
  return Object.assign(Type.Optional(schema), { "x-essential": true });
}
