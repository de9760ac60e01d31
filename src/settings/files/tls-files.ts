import { createPrivateKey, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { codeOf, messageOf, StartError } from "../../errors.ts";
import { TLS_FILE_BYTES_MAX } from "../limits.ts";
import { readSmallFile } from "./small-file.ts";

/** Certificates and private key with which a server speaks TLS, as PEM strings. */
export interface TlsKeys {
  /** The server's certificate, followed by those of intermediate authorities. */
  cert: string;
  key: string;
  /**
   * Certificates of authorities, one of which must have signed a client's certificate. If absent,
   * clients need no certificate.
   */
  ca?: string;
}

/** Paths of the TLS files of one listener. Each path is the value of a setting. */
export interface TlsPaths {
  certificate: string;
  key: string;
  clients?: string | undefined;
  /**
   * Prefix of the names of the settings `certificate`, `key` and `clients` (such as `tls.`), for
   * error messages.
   */
  prefix: string;
}

export interface ReadTlsKeys {
  keys: TlsKeys;
  /** Time at which the certificate expires, in milliseconds since the epoch. */
  expiresAt: number;
}

/**
 * Reads the TLS files of a listener. Throws `StartError` if a file cannot be read, or if a server
 * cannot use the certificates and the key.
 */
export function readTlsKeys({ certificate, key, clients, prefix }: TlsPaths): ReadTlsKeys {
  const read = (name: string, path: string) =>
    readSmallFile(`${prefix}${name}`, path, TLS_FILE_BYTES_MAX);
  const keys: TlsKeys = { cert: read("certificate", certificate), key: read("key", key) };
  const parsed = attempt(`certificate ${certificate}`, () => new X509Certificate(keys.cert));
  attempt(`private key ${key}`, () => createPrivateKey(keys.key));
  attempt(`certificate ${certificate} with the private key ${key}`, () =>
    createSecureContext(keys),
  );
  if (clients === undefined) return { keys, expiresAt: Date.parse(parsed.validTo) };
  const ca = read("clients", clients);
  attempt(`authorities ${clients}`, () => new X509Certificate(ca) && createSecureContext({ ca }));
  return { keys: { ...keys, ca }, expiresAt: Date.parse(parsed.validTo) };

  function attempt<T>(what: string, use: () => T): T {
    try {
      return use();
    } catch (error) {
      throw new StartError(`Cannot use the ${what}: ${reasonOf(error)}`);
    }
  }
}

/**
 * Explanations of the errors that OpenSSL reports for TLS files. An entry applies to an error if
 * its key is a part of the error's code or message.
 */
const reasons = {
  KEY_VALUES_MISMATCH: "they do not belong together",
  NO_START_LINE: "expected PEM, which begins with -----BEGIN",
  BAD_END_LINE: "expected PEM that is whole, got one without its -----END line",
  BAD_BASE64_DECODE: "expected PEM, got other characters between its lines",
  DECODE_ERROR: "expected PEM of this kind, got other bytes in it",
  MISSING_PASSPHRASE: "expected a key that is not encrypted",
};

function reasonOf(error: unknown): string {
  const message = messageOf(error);
  const text = codeOf(error) + message;
  return Object.entries(reasons).find(([part]) => text.includes(part))?.[1] ?? message;
}
