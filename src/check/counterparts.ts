import { pino } from "pino";
import { type MailServer, verifyMailServer } from "../alerts/receivers/email.ts";
import { brokerSettings } from "../backend/broker-settings.ts";
import { mailServerOf } from "../backend/mail-server.ts";
import { awaitBrokers } from "../cluster/topics/await-brokers.ts";
import { createEgress } from "../egress/egress.ts";
import { messageOf, StartError } from "../errors.ts";
import { connectClients } from "../kafka/client.ts";
import { createSandbox } from "../sandbox/guest-sandbox.ts";
import type { GuestLanguage } from "../sandbox/program.ts";
import { selfCommand } from "../self-command.ts";
import type { Config } from "../settings/keys.ts";
import type { CheckResult } from "./check-result.ts";

/**
 * Milliseconds to wait for an answer of the Kafka brokers. The Kafka client retries a refused
 * password for 12 s before it reports the error, and the check must not end earlier.
 */
const ANSWER_MS_MAX = 30_000;

/** Checks that the Kafka brokers answer, and that there are at least `cluster.replicas` of them. */
export async function checkBrokers(config: Config): Promise<CheckResult> {
  const subject = "brokers";
  const fails = (detail: string): CheckResult => ({ state: "fails", subject, detail });
  const addresses = config["cluster.kafka"].join(", ");
  try {
    const clients = await connectClients(brokerSettings(config));
    try {
      await awaitBrokers(clients);
      const answer = clients.admin().metadata({ topics: [] });
      const late = Bun.sleep(ANSWER_MS_MAX).then(() => undefined);
      const metadata = await Promise.race([answer, late]);
      if (metadata === undefined) {
        return fails(`${addresses} did not answer within ${ANSWER_MS_MAX / 1_000} s`);
      }
      const count = metadata.brokers.size;
      const replicas = config["cluster.replicas"];
      const detail = `${count} answer`;
      if (count >= replicas) return { state: "ok", subject, detail };
      return fails(`${detail}, fewer than cluster.replicas (${replicas})`);
    } finally {
      await clients.close();
    }
  } catch (error) {
    const reason = messageOf(error);
    return fails(error instanceof StartError ? reason : `${addresses}: ${reason}`);
  }
}

/**
 * Checks that the mail server for alerts answers and accepts the user name and password. Checks
 * nothing when the settings name no mail server or an invalid one. Sends no mail.
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
 * Returns the mail server that the settings name. Undefined when the settings name none, or when
 * they are invalid, which `checkSettings` reports.
 */
function mailServer(config: Config): MailServer | undefined {
  try {
    return mailServerOf(config);
  } catch (error) {
    if (error instanceof StartError) return undefined;
    throw error;
  }
}

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
