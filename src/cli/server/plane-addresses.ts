import type { Config } from "../../settings/keys.ts";
import type { Address, Plane } from "../../take-over/messages.ts";

/**
 * Returns the host and port of each listener. Leaves out `transformer` if the settings have no port
 * for it.
 */
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
