import { readFileSync } from "node:fs";
import { type CityResponse, Reader } from "mmdb-lib";
import { codeOf, messageOf, StartError } from "../../errors.ts";

/**
 * Looks up the record of an IP address in a geolocation database. Returns null when the database
 * has no record of it.
 */
export type Geolocation = (ip: string) => object | null;

/**
 * Reads a geolocation database in MaxMind's format (GeoLite2, GeoIP2, DB-IP). Returns the function
 * that looks an IP address up in it, for `geolocation(ip)` of user code. Throws `StartError` when
 * the file cannot be read.
 */
export function openGeolocation(path: string): Geolocation {
  let reader: Reader<CityResponse>;
  try {
    reader = new Reader<CityResponse>(readFileSync(path));
  } catch (error) {
    const reason = codeOf(error) || messageOf(error);
    throw new StartError(`Cannot read the geolocation database ${path}: ${reason}`);
  }
  // In a file for IPv4, the reader takes the first 32 bits of an IPv6 address for an IPv4 address.
  const isForIPv4 = reader.metadata.ipVersion === 4;
  return (ip) => (isForIPv4 && ip.includes(":") ? null : reader.get(ip));
}
