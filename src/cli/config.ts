import { defineCommand } from "citty";
import { configFlags, readSettings } from "../settings/reader.ts";
import { reportSettings, settingsAsToml } from "../settings/report.ts";

export const config = defineCommand({
  meta: { name: "config", description: "Print the settings in force, and where each came from" },
  args: { ...configFlags, json: { type: "boolean", description: "print JSON" } },
  run({ args }) {
    const settings = reportSettings(readSettings(args));
    const text = args.json ? `${JSON.stringify(settings, null, 2)}\n` : settingsAsToml(settings);
    process.stdout.write(text);
  },
});
