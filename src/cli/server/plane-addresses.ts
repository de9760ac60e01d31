import type { Config } from "../../settings/keys.ts";
import type { Address, Plane } from "../../take-over/messages.ts";

/** Returns each listener's host and port; `transformer` only if the settings have its port. */
export function planeAddresses(config: Config): Partial<Record<Plane, Address>> {
  const transformer = config["transformer.port"];
  return {
    "data-plane": { host: config.host, port: config.port },
    "control-plane": { host: config["admin.host"], port: config["admin.port"] },
    ...(transformer !== undefined && {
      transformer: { host: config["transformer.host"], port: transformer },
    }),
  };
}
