import { Type } from "@sinclair/typebox";

/**
 * Returns the schema of a config key that RudderStack's clients send and that pixelmill ignores.
 */
export const ignoredKey = () =>
  Type.Optional(Type.Unknown({ description: "Kept for RudderStack's clients; has no effect" }));

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
