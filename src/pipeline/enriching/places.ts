import { isIP } from "node:net";
import { remembered } from "../../remembered.ts";

/** Maximum number of IP addresses whose location is cached. */
const ADDRESSES_REMEMBERED_MAX = 4_096;

/** Fields read from a record of a city database in MaxMind format. Each may be absent. */
interface CityRecord {
  city?: { names?: { en?: unknown } };
  country?: { iso_code?: unknown };
  subdivisions?: readonly { names?: { en?: unknown } }[];
  postal?: { code?: unknown };
  location?: { latitude?: unknown; longitude?: unknown; time_zone?: unknown };
}

/**
 * Creates a function that returns the location of an IP address, as the JSON text of `context.geo`.
 * That function returns undefined if its argument is no IP address, or if `lookup` does not know
 * the address or throws.
 */
export function createPlaces(
  lookup: (ip: string) => object | null,
): (ip: string) => string | undefined {
  const textFor = remembered(ADDRESSES_REMEMBERED_MAX, (ip: string) => placeText(ip, lookup));
  return (ip) => (isIP(ip) === 0 ? undefined : textFor(ip));
}

function placeText(ip: string, lookup: (ip: string) => object | null): string | undefined {
  try {
    const record = lookup(ip);
    return record === null ? undefined : JSON.stringify(placeOf(ip, record));
  } catch {
    // A damaged database must not keep the event from being delivered.
    return undefined;
  }
}

function placeOf(ip: string, { city, country, subdivisions, postal, location }: CityRecord) {
  const { latitude, longitude } = location ?? {};
  const isLocated = typeof latitude === "number" && typeof longitude === "number";
  return {
    ip,
    city: textOf(city?.names?.en),
    country: textOf(country?.iso_code),
    region: textOf(subdivisions?.[0]?.names?.en),
    postal: textOf(postal?.code),
    // RudderStack writes six digits.
    location: isLocated ? `${latitude.toFixed(6)},${longitude.toFixed(6)}` : "",
    timezone: textOf(location?.time_zone),
  };
}

const textOf = (value: unknown) => (typeof value === "string" ? value : "");
