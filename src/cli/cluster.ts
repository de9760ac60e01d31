import { defineCommand } from "citty";
import type { MigrationCounts } from "../backup/migration.ts";
import { createLogger, type Logger } from "../observe/log.ts";
import type { Config } from "../settings/keys.ts";
import { configFlags, loadConfig } from "../settings/reader.ts";

type Migration = (config: Config, logger: Logger) => Promise<MigrationCounts>;

/**
 * Creates a command that copies data between a standalone server and a cluster. The code that
 * copies is loaded only when the command runs.
 */
function migrationCommand(name: string, description: string, load: () => Promise<Migration>) {
  return defineCommand({
    meta: { name: `cluster ${name}`, description },
    args: configFlags,
    async run({ args }) {
      const config = loadConfig(args);
      const migrate = await load();
      const { workspaces, events, deadLetters } = await migrate(config, createLogger("warn"));
      const counts = `workspaces: ${workspaces}, undelivered events: ${events}, dead letters: ${deadLetters}`;
      process.stdout.write(`${name}ed ${counts}\n`);
    },
  });
}

export const cluster = defineCommand({
  meta: { name: "cluster", description: "From one machine to several, and back" },
  subCommands: {
    import: migrationCommand(
      "import",
      "Take the data of a stopped server into a new cluster",
      async () => {
        return (await import("../backup/migration.ts")).importStandalone;
      },
    ),
    export: migrationCommand(
      "export",
      "Make a data directory of what a stopped cluster has",
      async () => {
        return (await import("../backup/migration.ts")).exportStandalone;
      },
    ),
  },
});
