import { defineCommand } from "citty";
import { configFlags, loadConfig } from "../settings/reader.ts";
import { checkBackup } from "./check-backup.ts";
import { checkHealth } from "./check-health.ts";

export const check = defineCommand({
  meta: { name: "check", description: "Look whether a server with these settings would work here" },
  args: configFlags,
  subCommands: { backup: checkBackup, health: checkHealth },
  async run({ args }) {
    const config = loadConfig(args);
    const { check } = await import("../check/check.ts");
    let fails = false;
    for await (const { state, subject, detail } of check(config)) {
      process.stdout.write(`${state.padEnd(6)}${subject}: ${detail}\n`);
      fails ||= state === "fails";
    }
    return fails ? 1 : 0;
  },
});
