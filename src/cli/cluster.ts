import { defineCommand } from "citty";
import { createLogger } from "../observe/log.ts";
import { configFlags, loadConfig } from "../settings/reader.ts";

/** Creates a command that copies data between a standalone server and a cluster. */
function migrationCommand(name: "import" | "export", description: string) {
  return defineCommand({
    meta: { name: `cluster ${name}`, description },
    args: configFlags,
    async run({ args }) {
      const config = loadConfig(args);
      // Imported only when the command runs, so that other commands do not load the Kafka client.
      const { importStandalone, exportStandalone } = await import("../backup/migration.ts");
      const migrate = name === "import" ? importStandalone : exportStandalone;
      const { workspaces, events, deadLetters } = await migrate(config, createLogger("warn"));
      const counts = `workspaces: ${workspaces}, undelivered events: ${events}, dead letters: ${deadLetters}`;
      process.stdout.write(`${name}ed ${counts}\n`);
    },
  });
}

export const cluster = defineCommand({
  meta: { name: "cluster", description: "From one machine to several, and back" },
  subCommands: {
    import: migrationCommand("import", "Take the data of a stopped server into a new cluster"),
    export: migrationCommand("export", "Make a data directory of what a stopped cluster has"),
  },
});
