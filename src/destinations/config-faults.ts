import type { TObject, TSchema } from "@sinclair/typebox";
import { Value, ValuePointer } from "@sinclair/typebox/value";
import { EgressRefused } from "../egress/egress.ts";
import { type Detail, describeValue } from "../errors.ts";
import { applies, conditionText } from "./applies-when.ts";

/**
 * Maximum number of schema errors that are reported for one config. A long array may have one error
 * per item.
 */
const ERRORS_MAX = 100;

/**
 * Checks a config against its schema. Returns faults for wrong values, and for keys that are set
 * (neither false nor the default) although their condition (see `appliesWhen`) is not met. Paths
 * are JSON pointers into the config.
 */
export function configFaults(schema: TObject, config: Record<string, unknown>): Detail[] {
  const faults = new Map<string, Detail>();
  for (const { path } of Iterator.from(Value.Errors(schema, config)).take(ERRORS_MAX)) {
    const [pointer, setting] = settingAt(schema, path);
    const expected = setting ? expectation(setting) : "another value";
    const message = `Expected ${expected}, got ${describeValue(ValuePointer.Get(config, pointer))}`;
    faults.set(pointer, { path: pointer, message });
  }
  for (const [key, setting] of Object.entries(schema.properties)) {
    const pointer = `/${key}`;
    const value = config[key];
    const isSet = ![undefined, false, setting.default].includes(value as boolean | undefined);
    if (!isSet || faults.has(pointer) || applies(schema, key, config)) continue;
    const condition = setting["x-applies-when"];
    if (Object.keys(condition).some((other) => faults.has(`/${other}`))) continue;
    const message = `Expected none unless ${conditionText(condition)}, got ${describeValue(value)}`;
    faults.set(pointer, { path: pointer, message });
  }
  return [...faults.values()];
}

/**
 * Returns the setting that contains the JSON pointer `path`, as its own pointer and its schema. A
 * setting is a key of the config, or a key of an object in the config.
 */
function settingAt(schema: TObject, path: string): [pointer: string, setting: TSchema | undefined] {
  const [, name = "", inner] = path.split("/");
  const setting = schema.properties[name];
  if (inner === undefined || setting?.type !== "object") return [`/${name}`, setting];
  return [`/${name}/${inner}`, setting.properties[inner]];
}

/**
 * Calls `check`. Returns an empty array or, if `check` throws `EgressRefused` (pixelmill may not
 * connect to an address in the config), this error as a fault at `path`. Other errors are not
 * caught.
 */
export function egressFaults(path: string, check: () => unknown): Detail[] {
  try {
    check();
    return [];
  } catch (error) {
    if (!(error instanceof EgressRefused)) throw error;
    return [{ path, message: error.message }];
  }
}

function expectation(schema: TSchema): string {
  const stated = schema["x-expected"];
  if (stated !== undefined) return stated;
  if (Array.isArray(schema.anyOf)) {
    return `one of ${schema.anyOf.map(({ const: value }: TSchema) => value).join(", ")}`;
  }
  if (schema.type === "integer") return `an integer from ${schema.minimum} to ${schema.maximum}`;
  if (schema.type === "boolean") return "true or false";
  if (schema.type === "array") {
    const keys = Object.keys(schema.items.properties).join(" and ");
    return `an array of at most ${schema.maxItems} objects with ${keys}`;
  }
  return `a string of 1 to ${schema.maxLength} characters`;
}
