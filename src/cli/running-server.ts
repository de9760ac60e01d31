import { resolve } from "node:path";
import { defineCommand } from "citty";
import type { ControlFault } from "../backend/reloadable/control-socket.ts";
import { codeOf, messageOf, StartError } from "../errors.ts";
import { controlSocket } from "../first-start/data-directory.ts";
import type { Config } from "../settings/keys.ts";
import type { ReloadResult } from "../settings/live-settings.ts";
import { configFlags, loadConfig, readSettings } from "../settings/reader.ts";
import { type ReportedSetting, reportSettings, settingsAsToml } from "../settings/report.ts";
import { switchFlag } from "./terminal/flags.ts";

/** Milliseconds that a command waits for an answer of the running server. */
const ANSWER_MS_MAX = 30_000;

/**
 * Sends a request to the server that runs on the data directory of `config`, and returns its
 * answer. Throws `StartError` when no server runs there or the server refuses the request.
 */
export async function askServer<T>(config: Config, method: string, path: string): Promise<T> {
  const unix = controlSocket(config);
  let response: Response;
  try {
    const signal = AbortSignal.timeout(ANSWER_MS_MAX);
    response = await fetch(`http://localhost${path}`, { unix, method, signal });
  } catch (error) {
    const isAway = ["ENOENT", "ECONNREFUSED", "FailedToOpenSocket"].includes(codeOf(error));
    const reason = isAway ? "none answers there" : messageOf(error);
    throw new StartError(`Expected a running server of ${resolve(config.data)}: ${reason}`);
  }
  if (response.ok) return (await response.json()) as T;
  throw new StartError(((await response.json()) as ControlFault).message);
}

export const config = defineCommand({
  meta: { name: "config", description: "Print the settings, and where each came from" },
  args: {
    ...configFlags,
    running: switchFlag("the settings of the server that runs on this data directory"),
    json: switchFlag("print JSON"),
  },
  async run({ args }) {
    const read = readSettings(args);
    const settings = args.running
      ? await askServer<ReportedSetting[]>(read.config, "GET", "/settings")
      : reportSettings(read);
    const text = args.json ? `${JSON.stringify(settings, null, 2)}\n` : settingsAsToml(settings);
    process.stdout.write(text);
  },
});

export const reload = defineCommand({
  meta: { name: "reload", description: "Make the running server read its settings again" },
  args: configFlags,
  async run({ args }) {
    const config = loadConfig(args);
    const { changed, needRestart } = await askServer<ReloadResult>(config, "POST", "/reload");
    const names = changed.length === 0 ? "no setting has changed" : `changed ${changed.join(", ")}`;
    process.stdout.write(`reloaded: ${names}\n`);
    if (needRestart.length > 0) {
      process.stdout.write(`these take a restart: ${needRestart.join(", ")}\n`);
    }
  },
});
