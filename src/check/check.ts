import type { Config } from "../settings/keys.ts";
import { nonDefaultSettings } from "../settings/report.ts";
import type { CheckResult } from "./check-result.ts";
import { checkBrokers, checkMailServer, checkUserCode } from "./counterparts.ts";
import { checkDisk } from "./disk.ts";
import { checkPorts, checkSystem } from "./machine.ts";
import { checkCertificates, checkSettings } from "./settings.ts";

/**
 * Checks everything that a server with these settings needs, such as the disk, ports and Kafka
 * brokers. Yields one result per check, and leaves the machine unchanged.
 */
export async function* check(config: Config): AsyncGenerator<CheckResult> {
  const changed = Object.entries(nonDefaultSettings(config)).map(
    ([key, value]) => `${key} = ${value}`,
  );
  const detail = changed.length === 0 ? "all at their defaults" : changed.join(", ");
  yield { state: "ok", subject: "settings", detail };
  yield* checkSettings(config);
  yield* checkSystem();
  yield* checkPorts(config);
  yield* checkCertificates(config);
  yield* checkDisk(config);
  if (config["cluster.kafka"].length > 0) yield await checkBrokers(config);
  yield* checkMailServer(config);
  yield await checkUserCode("javascript");
  yield await checkUserCode("python");
}
