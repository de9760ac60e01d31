import { openSignOn } from "../api/sign-in/sign-on.ts";
import { mailServerOf } from "../backend/mail-server.ts";
import { listenerNames, tlsPaths } from "../backend/reloadable/certificates.ts";
import { expectBackupSettings } from "../backup/backup-target.ts";
import { readDefinitions } from "../destinations/rudder-server/read-definitions.ts";
import { messageOf, StartError } from "../errors.ts";
import { openGeolocation } from "../sandbox/host-calls/geolocation.ts";
import { readTlsKeys } from "../settings/files/tls-files.ts";
import type { Config } from "../settings/keys.ts";
import type { CheckResult } from "./check-result.ts";

/**
 * Functions that each read one group of settings, and the files that the settings name, as a
 * starting server does. A function throws `StartError` if a server would not start. The key names
 * the group in the check's results.
 */
const groups: Record<string, (config: Config) => unknown> = {
  "single sign-on": openSignOn,
  "mail server": mailServerOf,
  backups: expectBackupSettings,
  geolocation({ "geolocation.database": path }) {
    if (path !== undefined) openGeolocation(path);
  },
  "RudderStack's definitions": (config) => readDefinitions(config["rudderstack.definitions"]),
};

/** Yields a failed result for each group of settings with which a server would not start. */
export function* checkSettings(config: Config): Generator<CheckResult> {
  for (const [subject, read] of Object.entries(groups)) {
    try {
      read(config);
    } catch (error) {
      yield failureOf(subject, error);
    }
  }
}

/**
 * Checks the certificate and key files of listeners with TLS, and that no certificate has expired.
 */
export function* checkCertificates(config: Config): Generator<CheckResult> {
  for (const plane of ["data", "control", "transformer"] as const) {
    const subject = `TLS of the ${listenerNames[plane]}`;
    try {
      const paths = tlsPaths(config, plane);
      if (paths === undefined) continue;
      const { expiresAt } = readTlsKeys(paths);
      const end = new Date(expiresAt).toISOString();
      const isOver = expiresAt < Date.now();
      const detail = `the certificate ${isOver ? "has ended" : "ends"} at ${end}`;
      yield { state: isOver ? "fails" : "ok", subject, detail };
    } catch (error) {
      yield failureOf(subject, error);
    }
  }
}

/** Makes a failed result from a `StartError`, and throws any other error. */
function failureOf(subject: string, error: unknown): CheckResult {
  if (!(error instanceof StartError)) throw error;
  return { state: "fails", subject, detail: messageOf(error) };
}
