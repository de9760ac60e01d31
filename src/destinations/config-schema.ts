import { type TSchema, Type } from "@sinclair/typebox";
import type { EffectCondition } from "./applies-when.ts";

/**
 * Returns the schema of a setting that has an effect only if `condition` is met. If it is not met,
 * forms do not show the setting, and the server refuses a config that contains it.
 */
export function appliesWhen<T extends TSchema>(condition: EffectCondition, schema: T): T {
  return { ...schema, "x-applies-when": condition };
}

/**
 * Returns the schema of an optional setting that most users of a destination kind need. Forms do
 * not fold this setting away, unlike other optional settings.
 */
export function essential<T extends TSchema>(schema: T) {
  return Object.assign(Type.Optional(schema), { "x-essential": true });
}

/** Returns the schema of an optional setting whose value the schema does not check. */
export const uncheckedKey = (description: string) => Type.Optional(Type.Unknown({ description }));

/**
 * Returns the schema of a config key that RudderStack's clients send and that pixelmill ignores.
 */
export const ignoredKey = () => uncheckedKey("Kept for RudderStack's clients; has no effect");

/**
 * Config keys that RudderStack's clients (the Terraform provider, dashboard exports) send for every
 * destination: consent categories and connection modes of RudderStack's SDKs. Pixelmill accepts and
 * ignores them.
 */
export const rudderstackKeys = {
  connectionMode: ignoredKey(),
  consentManagement: ignoredKey(),
  ketchConsentPurposes: ignoredKey(),
  oneTrustCookieCategories: ignoredKey(),
  useNativeSDK: ignoredKey(),
  eventDelivery: ignoredKey(),
  eventDeliveryTS: ignoredKey(),
};
