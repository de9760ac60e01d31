import { defineCommand } from "citty";
import { messageOf, StartError } from "../errors.ts";
import type { Config } from "../settings/keys.ts";
import { configFlags, loadConfig } from "../settings/reader.ts";
import { askServer } from "./running-server.ts";

/** Milliseconds that the command waits for an answer of the data plane. */
const ANSWER_MS_MAX = 5_000;

export const checkHealth = defineCommand({
  meta: {
    name: "check health",
    description: "Ask whether the running server answers, on its data plane too",
  },
  args: configFlags,
  async run({ args }) {
    const config = loadConfig(args);
    await askServer(config, "GET", "/settings");
    await askDataPlane(config);
    process.stdout.write("healthy\n");
  },
});

/** Requests the data plane's `/health`. Throws `StartError` unless it succeeds. */
async function askDataPlane(config: Config): Promise<void> {
  const scheme = config["tls.certificate"] === undefined ? "http" : "https";
  const url = `${scheme}://${reachable(config.host)}:${config.port}/health`;
  try {
    const response = await fetch(url, {
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
      // The certificate is issued for the name by which other machines reach this one.
      tls: { rejectUnauthorized: false },
    });
    if (response.ok) return;
    throw new Error(`it answers ${response.status}`);
  } catch (error) {
    throw new StartError(`Expected the data plane to answer at ${url}: ${messageOf(error)}`);
  }
}

/** Returns the host for URLs: loopback for `0.0.0.0` and `::`; brackets around IPv6. */
function reachable(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host}]` : host;
}
