import type { SecretAudience } from "./destination.ts";

/** The place that a URL names. Throws when the text is no URL. */
export function audienceOfUrl(text: unknown): SecretAudience {
  const { protocol, hostname, port } = new URL(String(text));
  const isTls = protocol === "https:";
  return { host: `${hostname}:${port || (isTls ? 443 : 80)}`, isTls };
}

/** Places of the second list that are none of the first: others, or the same without TLS. */
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
