import { Type } from "@sinclair/typebox";

const ignored = () =>
  Type.Optional(Type.Unknown({ description: "Kept for RudderStack's clients; has no effect" }));

/**
 * Settings that RudderStack's clients (Terraform provider, dashboard exports) send for any
 * destination: consent categories and connection modes of its SDKs. They have no effect here.
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
