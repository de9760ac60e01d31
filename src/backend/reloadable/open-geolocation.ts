import type { Logger } from "../../observe/log.ts";
import { createPlaces } from "../../pipeline/enriching/places.ts";
import { openGeolocation } from "../../sandbox/host-calls/geolocation.ts";
import type { Config } from "../../settings/keys.ts";
import type { StartContext } from "../backend.ts";

type GeolocationContext = Pick<StartContext, "config" | "settings" | "logger">;

/** The geolocation database that the settings name. A reload may replace it. */
export interface GeolocationDatabase {
  /** Returns the record of an IP address for user code. Throws when there is no database. */
  record(ip: string): object | null;
  /** Returns the location of an IP address as JSON text; undefined for an unknown address. */
  place(ip: string): string | undefined;
}

/**
 * Opens the file of the setting `geolocation.database`, if it is set, and opens the file again at
 * each reload. Throws `StartError` when the file cannot be read. Logs only the first damaged record
 * that it meets in the file.
 */
export function openGeolocationDatabase({
  config,
  settings,
  logger,
}: GeolocationContext): GeolocationDatabase {
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
    record(ip) {
      if (open === undefined) throw new Error("Not configured");
      return open.record(ip);
    },
    place: (ip) => open?.place(ip),
  };
}

function openDatabase(config: Config, logger: Logger): GeolocationDatabase | undefined {
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
