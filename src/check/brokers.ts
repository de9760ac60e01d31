import { brokerSettings } from "../backend/broker-settings.ts";
import { awaitBrokers } from "../cluster/topics/await-brokers.ts";
import { messageOf, StartError } from "../errors.ts";
import { connectClients } from "../kafka/client.ts";
import type { Config } from "../settings/keys.ts";
import type { CheckResult } from "./check-result.ts";

/**
 * Milliseconds to wait for an answer of the Kafka brokers. It is longer than the 12 s for which the
 * Kafka client retries when a password is wrong.
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
