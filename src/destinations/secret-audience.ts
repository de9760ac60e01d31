import type { SecretAudience } from "./destination.ts";

/** The host of a URL as the audience of a secret. Throws when the text is no URL. */
export function audienceOfUrl(text: unknown): SecretAudience {
  const { protocol, hostname, port } = new URL(String(text));
  const isTls = protocol === "https:";
  return { host: `${hostname}:${port || (isTls ? 443 : 80)}`, isTls };
}

/** Audiences of `after` that are not in `before`: new ones, and known ones that lost TLS. */
export function addedAudiences(
  before: readonly SecretAudience[],
  after: readonly SecretAudience[],
): SecretAudience[] {
  return after.filter(({ host, isTls, use }) => {
    const isOld = (old: SecretAudience) =>
      old.host === host && old.use === use && (isTls || !old.isTls);
    return !before.some(isOld);
  });
}
