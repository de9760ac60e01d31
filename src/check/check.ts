import type { Config } from "../settings/reader.ts";
import { differing } from "../settings/reader.ts";
import { brokersFinding } from "./brokers.ts";
import { diskFindings } from "./disk.ts";
import type { Finding } from "./finding.ts";
import { listenFinding, systemFindings } from "./system.ts";
import { userCodeFinding } from "./user-code.ts";

/** Looks at everything that a server with these settings needs. Leaves nothing changed. */
export async function* check(config: Config): AsyncGenerator<Finding> {
  const changed = Object.entries(differing(config)).map(([key, value]) => `${key} = ${value}`);
  const found = changed.length === 0 ? "all at their defaults" : changed.join(", ");
  yield { state: "ok", what: "settings", found };
  yield* systemFindings();
  yield await listenFinding("data plane", config.host, config.port);
  yield await listenFinding("control plane", config["admin.host"], config["admin.port"]);
  yield* diskFindings(config);
  if (config["cluster.kafka"].length > 0) yield await brokersFinding(config);
  yield await userCodeFinding("javascript");
  yield await userCodeFinding("python");
}
