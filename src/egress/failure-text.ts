import { getSystemErrorMap } from "node:util";

/** Reasons for which the certificate of the other side is not accepted, by error code of TLS. */
const certificateFaults: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: "self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "of an unknown authority",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "of an unknown authority",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "of an unknown authority",
  CERT_HAS_EXPIRED: "expired",
  CERT_NOT_YET_VALID: "not valid yet",
  ERR_TLS_CERT_ALTNAME_INVALID: "of another host",
};

/**
 * Returns why a certificate is not accepted, such as `expired`; undefined when the error code is
 * not about a certificate.
 */
export function certificateFault(code: string): string | undefined {
  const fault = certificateFaults[code];
  return fault ?? (/CERT|SIGN|ALTNAME|ISSUER/.test(code) ? "not valid" : undefined);
}

/**
 * Describes a failed connection by its error code, such as `The request failed: connection refused
 * (ECONNREFUSED)`. The message of the error is left out, because it may contain an internal address.
 * `failed` is the beginning of the sentence, `owner` that of a sentence about the certificate.
 */
export function failureText(code: string, failed: string, owner: string): string {
  const fault = certificateFault(code);
  if (fault !== undefined) return `${owner} certificate is not accepted: ${fault} (${code})`;
  const known = [...getSystemErrorMap().values()].find(([name]) => name === code);
  return known ? `${failed}: ${known[1]} (${code})` : `${failed} (${code})`;
}
