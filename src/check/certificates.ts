import { listenerNames, tlsPaths } from "../backend/reloadable/certificates.ts";
import { messageOf, StartError } from "../errors.ts";
import { readTlsKeys } from "../settings/files/tls-files.ts";
import type { Config } from "../settings/keys.ts";
import type { CheckResult } from "./check-result.ts";

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
      if (!(error instanceof StartError)) throw error;
      yield { state: "fails", subject, detail: messageOf(error) };
    }
  }
}
