import { defineCommand } from "citty";
import type { Carried } from "../backup/cluster.ts";
import { createLogger, type Logger } from "../observe/log.ts";
import { type Config, configFlags, loadConfig } from "../settings/reader.ts";

type Carry = (config: Config, logger: Logger) => Promise<Carried>;

/** A command that carries data, which is loaded when the command runs. */
function carrying(name: string, description: string, load: () => Promise<Carry>) {
  return defineCommand({
    meta: { name: `cluster ${name}`, description },
    args: configFlags,
    async run({ args }) {
      const config = loadConfig(args);
      const carry = await load();
      const { workspaces, events, deadLetters } = await carry(config, createLogger("warn"));
      const carried = `workspaces: ${workspaces}, undelivered events: ${events}, dead letters: ${deadLetters}`;
      process.stdout.write(`${name}ed ${carried}\n`);
    },
  });
}

export const cluster = defineCommand({
  meta: { name: "cluster", description: "From one machine to several, and back" },
  subCommands: {
    import: carrying("import", "Take the data of a stopped server into a new cluster", async () => {
      return (await import("../backup/cluster.ts")).importAlone;
    }),
    export: carrying("export", "Make a data directory of what a stopped cluster has", async () => {
      return (await import("../backup/cluster.ts")).exportAlone;
    }),
  },
});
