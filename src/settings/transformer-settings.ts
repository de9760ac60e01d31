import { host, optionalInteger, secretText } from "./schema-types.ts";

/**
 * Settings of the listener for rudder-server and rudder-transformer, as a part of `configSchema`.
 */
export const transformerSettings = {
  "transformer.host": host(
    "127.0.0.1",
    "address of the listener that runs user code for rudder-server, which sends no credentials",
  ),
  "transformer.port": optionalInteger(0, 65_535, {
    description:
      "port of that listener, 9090 as a rule; 0 takes a free one; without it there is no listener",
  }),
  "transformer.secret": secretText(
    "secret that requests to that listener must have, as a proxy or rudder-transformer sends it",
    {
      minLength: 16,
      pattern: "^[!-~]+$",
      title: "16 to 1,024 visible ASCII characters",
    },
  ),
};
