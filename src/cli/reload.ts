import { defineCommand } from "citty";
import type { ReloadResult } from "../settings/live-settings.ts";
import { configFlags, loadConfig } from "../settings/reader.ts";
import { askServer } from "./running-server.ts";

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
