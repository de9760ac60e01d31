import type { SecretAudience } from "./destination.ts";

/** Returns the host of a URL as the receiver of a secret. Throws when the text is no URL. */
export function audienceOfUrl(text: unknown): SecretAudience {
  const { protocol, hostname, port } = new URL(String(text));
  const isTls = protocol === "https:";
  return { host: `${hostname}:${port || (isTls ? 443 : 80)}`, isTls };
}

/**
 * Describes the certificates that a config with `tlsCa` and `tlsServerName` accepts: by default
 * those of the system's authorities for the name `host`. The description is part of a secret's
 * receiver, because a user who could replace the authorities could put another server at the
 * receiver's address.
 */
export function acceptedCertificate(
  { tlsCa = "", tlsServerName }: { tlsCa?: string; tlsServerName?: string },
  host: string,
): string {
  return JSON.stringify([(tlsServerName ?? host).toLowerCase(), tlsCa.trim()]);
}

/**
 * Returns the receivers of a secret that are in `after` and missing in `before`. A receiver that
 * had TLS in `before` and has none in `after` counts as missing.
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
