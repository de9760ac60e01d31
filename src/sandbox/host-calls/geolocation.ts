import { readFileSync } from "node:fs";
import { type CityResponse, Reader } from "mmdb-lib";
import { codeOf, messageOf, StartError } from "../../errors.ts";

/**
 * Opens a MaxMind-format file (GeoLite2, GeoIP2, DB-IP) for `geolocation(ip)` of user code, which
 * returns the file's record, or null for an address that is not in it. The file is read once; a new
 * one needs a restart.
 */
export function openGeolocation(path: string): (ip: string) => object | null {
  let reader: Reader<CityResponse>;
  try {
    reader = new Reader<CityResponse>(readFileSync(path));
  } catch (error) {
    const reason = codeOf(error) || messageOf(error);
    throw new StartError(`Cannot read the geolocation database ${path}: ${reason}`);
  }
  return (ip) => reader.get(ip);
}
