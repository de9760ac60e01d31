import type { Logger } from "../../observe/log.ts";
import { createPlaces } from "../../pipeline/enriching/places.ts";
import { openGeolocation } from "../../sandbox/host-calls/geolocation.ts";
import type { Config } from "../../settings/keys.ts";
import type { StartContext } from "../backend.ts";

type GeolocationContext = Pick<StartContext, "config" | "settings" | "logger">;

/**
 * The geolocation database of the setting `geolocation.database`. A reload of the settings may
 * replace it.
 */
export type GeolocationDatabase = ReturnType<typeof openGeolocationDatabase>;

/**
 * Opens the database that the setting `geolocation.database` names, and opens it again at each
 * reload of the settings. Throws `StartError` if the file cannot be read. Damaged data is logged
 * once per opening.
 */
export function openGeolocationDatabase({ config, settings, logger }: GeolocationContext) {
  let open = openDatabase(config, logger);
  settings.add({
    keys: ["geolocation.database"],
    prepare(next) {
      const database = openDatabase(next, logger);
      return () => {
        open = database;
      };
    },
  });
  return {
    /**
     * Returns the database's record about an IP address, for user code. Throws if there is no
     * database.
     */
    record(ip: string) {
      if (open === undefined) throw new Error("Not configured");
      return open.record(ip);
    },
    /**
     * Returns the place of an IP address as JSON text, for events. Undefined for an unknown address
     * and when there is no database.
     */
    place: (ip: string) => open?.place(ip),
  };
}

function openDatabase(config: Config, logger: Logger) {
  const path = config["geolocation.database"];
  if (path === undefined) return undefined;
  const lookUp = openGeolocation(path);
  let isDamaged = false;
  const record = (ip: string) => {
    try {
      return lookUp(ip);
    } catch (error) {
      // Logged once, because each event could meet the damage.
      if (!isDamaged) logger.error({ err: error, path }, "the geolocation database is damaged");
      isDamaged = true;
      throw error;
    }
  };
  return { record, place: createPlaces(record) };
}
