import { pino } from "pino";
import { messageOf } from "../errors.ts";
import { createSandbox } from "../sandbox/guest-sandbox.ts";
import type { GuestLanguage } from "../sandbox/program.ts";
import { self } from "../self.ts";
import type { Finding } from "./finding.ts";

/** Starts a guest, which confines itself and tries what must be impossible then. */
export async function userCodeFinding(language: GuestLanguage): Promise<Finding> {
  const what = `user code in ${language === "python" ? "Python" : "JavaScript"}`;
  const sandbox = createSandbox({
    guestCommand: [...self, "guest"],
    insecure: false,
    log: pino({ level: "silent" }),
  });
  try {
    await sandbox.inspect("check", language, "");
    return { state: "ok", what, found: "runs confined" };
  } catch (error) {
    return { state: "fails", what, found: messageOf(error) };
  } finally {
    await sandbox.close();
  }
}
