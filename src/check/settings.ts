import { openSignOn } from "../api/sign-in/sign-on.ts";
import { mailServerOf } from "../backend/mail-server.ts";
import { expectBackupSettings } from "../backup/backup-target.ts";
import { readDefinitions } from "../destinations/rudder-server/read-definitions.ts";
import { messageOf, StartError } from "../errors.ts";
import { openGeolocation } from "../sandbox/host-calls/geolocation.ts";
import type { Config } from "../settings/keys.ts";
import type { CheckResult } from "./check-result.ts";

/**
 * Functions that read one group of settings, and the files that these settings name, as a starting
 * server does. Each throws `StartError` if a server would not start with them. The key is the
 * subject of the check's result.
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
      if (!(error instanceof StartError)) throw error;
      yield { state: "fails", subject, detail: messageOf(error) };
    }
  }
}
