import { defineCommand } from "citty";
import { configFlags, readSettings } from "../settings/reader.ts";
import { type ReportedSetting, reportSettings, settingsAsToml } from "../settings/report.ts";
import { askServer } from "./running-server.ts";
import { switchFlag } from "./terminal/flags.ts";

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
