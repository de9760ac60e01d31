import { Type } from "@sinclair/typebox";

const kept = () =>
  Type.Optional(Type.Unknown({ description: "Kept for RudderStack's clients; has no effect" }));

/**
 * Settings that RudderStack's clients (Terraform provider, dashboard exports) send for any
 * destination: consent categories and how its own SDKs connect. An HTTP source has neither.
 */
export const rudderstackKeys = {
  connectionMode: kept(),
  consentManagement: kept(),
  ketchConsentPurposes: kept(),
  oneTrustCookieCategories: kept(),
  useNativeSDK: kept(),
  eventDelivery: kept(),
  eventDeliveryTS: kept(),
};
