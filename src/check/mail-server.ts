import { verifyMailServer } from "../alerts/receivers/email.ts";
import { mailServerOf } from "../backend/mail-server.ts";
import { createEgress } from "../egress/egress.ts";
import { messageOf } from "../errors.ts";
import type { Config } from "../settings/keys.ts";
import type { CheckResult } from "./check-result.ts";

/** Checks that the mail server for alerts answers and accepts the user. Sends no mail. */
export async function checkMailServer(config: Config): Promise<CheckResult> {
  const subject = "mail server";
  const address = config["smtp.server"];
  const nameServers = config["egress.resolver"];
  const egress = createEgress({ allow: ["0.0.0.0/0", "::/0"], nameServers });
  try {
    const server = mailServerOf(config);
    if (server === undefined) return { state: "ok", subject, detail: "none" };
    const fault = await verifyMailServer(egress, server);
    if (fault === undefined) return { state: "ok", subject, detail: `${address} answers` };
    return {
      state: "warns",
      subject,
      detail: `${address}: ${fault}; alerts reach no email address`,
    };
  } catch (error) {
    return { state: "fails", subject, detail: messageOf(error) };
  } finally {
    egress.close();
  }
}
