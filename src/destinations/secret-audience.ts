import type { SecretAudience } from "./destination.ts";

/** Returns the server of a URL as the receiver of a secret. Throws if the text is not a URL. */
export function audienceOfUrl(text: unknown): SecretAudience {
  const { protocol, hostname, port } = new URL(String(text));
  const isTls = protocol === "https:";
  return { host: `${hostname}:${port || (isTls ? 443 : 80)}`, isTls };
}

/**
 * Returns a string that describes which certificates a config accepts: the authorities (by default
 * the system's) and the server's name (by default `host`). The string is part of a receiver's
 * identity, because other authorities could admit another server.
 */
export function acceptedCertificate(
  { tlsCa = "", tlsServerName }: { tlsCa?: string; tlsServerName?: string },
  host: string,
): string {
  return JSON.stringify([(tlsServerName ?? host).toLowerCase(), tlsCa.trim()]);
}

/**
 * Returns the receivers of a secret that are in `after` but not in `before`. A receiver also counts
 * as added if it has TLS in `before` and no TLS in `after`.
 */
export function addedAudiences(
  before: readonly SecretAudience[],
  after: readonly SecretAudience[],
): SecretAudience[] {
  return after.filter(({ host, isTls, certificate, use }) => {
    const isOld = (old: SecretAudience) =>
      old.host === host &&
      old.use === use &&
      old.certificate === certificate &&
      (isTls || !old.isTls);
    return !before.some(isOld);
  });
}
