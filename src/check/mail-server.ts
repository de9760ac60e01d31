import { type MailServer, verifyMailServer } from "../alerts/receivers/email.ts";
import { mailServerOf } from "../backend/mail-server.ts";
import { createEgress } from "../egress/egress.ts";
import { StartError } from "../errors.ts";
import type { Config } from "../settings/keys.ts";
import type { CheckResult } from "./check-result.ts";

/**
 * Checks that the mail server for alerts answers and accepts the user. Checks nothing when the
 * settings name no mail server, or when a server could not start with them. Sends no mail.
 */
export async function* checkMailServer(config: Config): AsyncGenerator<CheckResult> {
  const server = mailServer(config);
  if (server === undefined) return;
  const subject = "mail server";
  const address = config["smtp.server"];
  const nameServers = config["egress.resolver"];
  const egress = createEgress({ allow: ["0.0.0.0/0", "::/0"], nameServers });
  try {
    const fault = await verifyMailServer(egress, server);
    yield fault === undefined
      ? { state: "ok", subject, detail: `${address} answers` }
      : {
          state: "warns",
          subject,
          detail: `${address}: ${fault}; alerts reach no email address`,
        };
  } finally {
    egress.close();
  }
}

/**
 * Returns the mail server that the settings name. Undefined when they name none, and when they are
 * invalid, which `checkSettings` reports.
 */
function mailServer(config: Config): MailServer | undefined {
  try {
    return mailServerOf(config);
  } catch (error) {
    if (error instanceof StartError) return undefined;
    throw error;
  }
}
