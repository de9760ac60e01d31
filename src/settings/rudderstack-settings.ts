import { flag, optionalText } from "./schema-types.ts";

/**
 * Settings with which pixelmill serves rudder-server and rudder-transformer as their control plane,
 * as a part of `configSchema`.
 */
export const rudderStackSettings = {
  "rudderstack.definitions": optionalText(
    "checkout of RudderStack's rudder-integrations-config, which defines the types that rudder-server delivers",
  ),
  "rudderstack.namespace": optionalText(
    "namespace in which rudder-servers get the configuration of all workspaces, with a token of the first workspace",
    {
      pattern: "^[A-Za-z0-9._-]{1,128}$",
      title: "1 to 128 letters, digits, dots, underscores or hyphens",
    },
  ),
  "rudderstack.code.open": flag(
    "let whoever reaches the control plane read published code, for a rudder-transformer that has no secret",
  ),
};
