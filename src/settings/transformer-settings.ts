import { Type } from "@sinclair/typebox";
import { optionalText } from "./schema-types.ts";

/**
 * Settings of the listener for rudder-server and rudder-transformer, as a part of `configSchema`.
 */
export const transformerSettings = {
  "transformer.host": Type.String({
    default: "127.0.0.1",
    pattern: "^[^\\s/\\[\\]]+$",
    title: "an IP address without brackets, or a host name",
    description:
      "address of the listener that runs user code for rudder-server, which sends no credentials",
  }),
  "transformer.port": Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 65_535,
      description:
        "port of that listener, 9090 as a rule; 0 takes a free one; without it there is no listener",
    }),
  ),
  "transformer.secret": optionalText(
    "secret that requests to that listener must have, as a proxy or rudder-transformer sends it",
    {
      minLength: 16,
      maxLength: 1_024,
      pattern: "^[!-~]+$",
      title: "16 to 1,024 visible ASCII characters",
      writeOnly: true,
    },
  ),
};
