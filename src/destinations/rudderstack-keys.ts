import { Type } from "@sinclair/typebox";

const ignored = () =>
  Type.Optional(Type.Unknown({ description: "Kept for RudderStack's clients; has no effect" }));

/**
 * Config keys that RudderStack's clients (the Terraform provider, dashboard exports) send for every
 * destination: consent categories and connection modes of RudderStack's SDKs. Pixelmill accepts and
 * ignores them.
 */
export const rudderstackKeys = {
  connectionMode: ignored(),
  consentManagement: ignored(),
  ketchConsentPurposes: ignored(),
  oneTrustCookieCategories: ignored(),
  useNativeSDK: ignored(),
  eventDelivery: ignored(),
  eventDeliveryTS: ignored(),
};
