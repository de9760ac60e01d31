import type { Place } from "./destination.ts";

/** The place that a URL names. Throws when the text is no URL. */
export function placeOfUrl(text: unknown): Place {
  const { protocol, hostname, port } = new URL(String(text));
  const isTls = protocol === "https:";
  return { host: `${hostname}:${port || (isTls ? 443 : 80)}`, isTls };
}

/** Places of the second list that are none of the first: others, or the same without TLS. */
export function newPlaces(before: readonly Place[], after: readonly Place[]): Place[] {
  return after.filter(({ host, isTls, use }) => {
    const isOld = (old: Place) => old.host === host && old.use === use && (isTls || !old.isTls);
    return !before.some(isOld);
  });
}
