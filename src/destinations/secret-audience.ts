import type { SecretAudience } from "./destination.ts";

/** Returns the server of a URL as the receiver of a secret. Throws if the text is not a URL. */
export function audienceOfUrl(text: unknown): SecretAudience {
  const { protocol, hostname, port } = new URL(String(text));
  const isTls = protocol === "https:";
  return { host: `${hostname}:${port || (isTls ? 443 : 80)}`, isTls };
}

/**
 * Returns a string that describes which certificates a config with `tlsCa` and `tlsServerName`
 * accepts: by default, certificates of the system's authorities for the name `host`. The string is
 * part of a secret's receiver, because a user who could replace the authorities could put another
 * server at the receiver's address.
 */
export function acceptedCertificate(
  { tlsCa = "", tlsServerName }: { tlsCa?: string; tlsServerName?: string },
  host: string,
): string {
  return JSON.stringify([(tlsServerName ?? host).toLowerCase(), tlsCa.trim()]);
}

/**
 * Returns the receivers of a secret that are in `after` and not in `before`. A receiver with TLS in
 * `before` and without TLS in `after` counts as added.
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
