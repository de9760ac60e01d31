import type { MailServer } from "../alerts/receivers/email.ts";
import { StartError } from "../errors.ts";
import { readSmallFile } from "../settings/files/small-file.ts";
import type { Config } from "../settings/keys.ts";
import { TLS_FILE_BYTES_MAX } from "../settings/limits.ts";

/**
 * Returns the mail server that the settings name, or undefined if they name none. Throws
 * `StartError` when the settings of the mail server contradict each other.
 */
export function mailServerOf(config: Config): MailServer | undefined {
  const address = config["smtp.server"];
  const from = config["smtp.from"];
  const user = config["smtp.user"];
  const password = config["smtp.password"];
  const path = config["smtp.ca"];
  if (address === undefined) {
    if ([from, user, password, path].every((value) => value === undefined)) return undefined;
    throw new StartError(
      "Settings smtp.from, smtp.user, smtp.password and smtp.ca need smtp.server",
    );
  }
  if (from === undefined) throw new StartError("Setting smtp.server needs smtp.from");
  const signIn = user !== undefined && password !== undefined ? { user, password } : undefined;
  if (signIn === undefined && (user ?? password) !== undefined) {
    throw new StartError("Settings smtp.user and smtp.password need each other");
  }
  const colon = address.lastIndexOf(":");
  return {
    host: address.slice(0, colon).replace(/^\[|\]$/g, ""),
    port: Number(address.slice(colon + 1)),
    tls: config["smtp.tls"],
    ...signIn,
    from,
    ...(path !== undefined && { ca: readSmallFile("smtp.ca", path, TLS_FILE_BYTES_MAX) }),
  };
}
