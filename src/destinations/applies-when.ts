import type { TSchema } from "@sinclair/typebox";

/**
 * Condition under which a setting has an effect: at least one of the settings named in this map has
 * an accepted value. Maps the name of each of these settings to its accepted values, or to `any`
 * for every value. A missing setting counts with its default value. Without a default, it has no
 * accepted value.
 */
export type EffectCondition = Readonly<Record<string, readonly string[] | "any">>;

interface ConfigSchema {
  properties?: Record<string, { default?: unknown; "x-applies-when"?: EffectCondition }>;
}

/**
 * Whether the setting `key` has an effect in a config. True if the schema of the setting has no
 * condition (`x-applies-when`), or if the config meets the condition. If the config omits a setting
 * that the condition names, the default value of the omitted setting is checked.
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
