import type { TSchema } from "@sinclair/typebox";

/**
 * Condition under which a setting has an effect: at least one of the settings named here has an
 * accepted value. `any` accepts every value. A missing setting counts with its default value, if it
 * has one.
 */
export type EffectCondition = Readonly<Record<string, readonly string[] | "any">>;

interface ConfigSchema {
  properties?: Record<string, { default?: unknown; "x-applies-when"?: EffectCondition }>;
}

/**
 * Whether the setting `key` has an effect in a config: its schema has no condition
 * (`x-applies-when`), or the config meets the condition. Missing settings count with their default
 * values.
 */
export function applies(
  { properties = {} }: ConfigSchema | TSchema,
  key: string,
  config: Record<string, unknown>,
): boolean {
  const condition: EffectCondition | undefined = properties[key]?.["x-applies-when"];
  if (condition === undefined) return true;
  return Object.entries(condition).some(([other, values]) => {
    const value = config[other] ?? properties[other]?.default;
    return values === "any" ? value !== undefined : values.includes(value as string);
  });
}

const oneOf = new Intl.ListFormat("en", { type: "disjunction" });

/** Describes a condition in words for an error message, such as “mode is raw”. */
export function conditionText(condition: EffectCondition): string {
  const alternatives = Object.entries(condition).map(
    ([key, values]) => `${key} is ${values === "any" ? "set" : oneOf.format(values)}`,
  );
  return oneOf.format(alternatives);
}
