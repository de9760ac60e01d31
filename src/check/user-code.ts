import { pino } from "pino";
import { messageOf } from "../errors.ts";
import { createSandbox } from "../sandbox/guest-sandbox.ts";
import type { GuestLanguage } from "../sandbox/program.ts";
import { selfCommand } from "../self-command.ts";
import type { CheckResult } from "./check-result.ts";

/**
 * Checks that user code can run in a sandbox: starts a sandbox process, which confines itself and
 * then tries system calls that must be refused.
 */
export async function checkUserCode(language: GuestLanguage): Promise<CheckResult> {
  const subject = `user code in ${language === "python" ? "Python" : "JavaScript"}`;
  const sandbox = createSandbox({
    guestCommand: [...selfCommand, "guest"],
    insecure: false,
    log: pino({ level: "silent" }),
    limits: { spares: 0 },
  });
  try {
    await sandbox.inspect("check", language, "");
    return { state: "ok", subject, detail: "runs confined" };
  } catch (error) {
    return { state: "fails", subject, detail: messageOf(error) };
  } finally {
    await sandbox.close();
  }
}
