import { existsSync } from "node:fs";
import { join } from "node:path";
import { defineCommand } from "citty";
import type { BackupContents } from "../backup/verify.ts";
import {
  catalogDirectory,
  deliveryDirectory,
  expectDataDirectory,
  expectStandaloneData,
} from "../first-start/data-directory.ts";
import { createLogger } from "../observe/log.ts";
import { configFlags, loadConfig } from "../settings/reader.ts";

/** Argument that names a backup to read. */
export const archiveArgument = {
  type: "positional",
  required: true,
  description: "a backup: a file, s3://BUCKET/KEY, or s3://BUCKET/PREFIX/ for the newest",
} as const;

export const backup = defineCommand({
  meta: {
    name: "backup",
    description: "Copy a data directory into a file, also while it is served",
  },
  args: {
    file: {
      type: "positional",
      required: true,
      description: "the file to make (.tar.zst), or s3://BUCKET/KEY",
    },
    ...configFlags,
  },
  async run({ args }) {
    const config = loadConfig(args);
    expectDataDirectory(config);
    expectStandaloneData(config);
    // Imported only when the command runs: LMDB unpacks a library, which `--help` must not do.
    const { backUpTo } = await import("../backup/back-up-to.ts");
    const { bytes, ...contents } = await backUpTo(config, args.file as string);
    print(`backup ${args.file}: ${bytes.toLocaleString("en")} bytes, ${inWords(contents)}`);
    printWarnings(contents);
  },
});

export const restore = defineCommand({
  meta: { name: "restore", description: "Make a data directory of a backup" },
  args: {
    file: archiveArgument,
    hold: { type: "boolean", description: "deliver nothing there until pixelmill release" },
    ...configFlags,
  },
  async run({ args }) {
    const config = loadConfig(args);
    const { archiveSource } = await import("../backup/archive-source.ts");
    const { restore } = await import("../backup/restore.ts");
    const archive = await archiveSource(config, args.file as string);
    const contents = await restore(config, archive, args.hold === true).finally(archive.close);
    const held = args.hold === true ? "; deliveries are held until pixelmill release" : "";
    const from = archive.name.startsWith("s3:") ? ` from ${archive.name}` : "";
    print(`restored ${config.data}${from}: ${inWords(contents)}${held}`);
    printWarnings(contents);
  },
});

export const release = defineCommand({
  meta: { name: "release", description: "Deliver from a data directory that was restored on hold" },
  args: configFlags,
  async run({ args }) {
    const config = loadConfig(args);
    expectDataDirectory(config);
    const { release } = await import("../backup/restore.ts");
    print(release(config) ? `deliveries of ${config.data} are released` : "nothing was held");
  },
});

/** Formats the numbers of workspaces, events and dead letters in a backup as one line of text. */
export function inWords({ workspaces, records, deadLetters }: BackupContents): string {
  return `workspaces: ${workspaces}, events in the log: ${records}, dead letters: ${deadLetters}`;
}

function printWarnings({ warnings }: BackupContents): void {
  for (const warning of warnings) print(`warning: ${warning}`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

export const compact = defineCommand({
  meta: {
    name: "compact",
    description: "Give the free space of a data directory that is not served back to the disk",
  },
  args: configFlags,
  async run({ args }) {
    const config = loadConfig(args);
    expectDataDirectory(config);
    expectStandaloneData(config);
    // Imported only when the command runs: LMDB unpacks a library, which `--help` must not do.
    const { compactStore } = await import("../store/lmdb/compact.ts");
    const stores = {
      catalog: join(catalogDirectory(config), "catalog.mdb"),
      delivery: deliveryDirectory(config),
    };
    for (const [name, path] of Object.entries(stores)) {
      if (!existsSync(path)) continue;
      const { before, after } = await compactStore(path);
      process.stdout.write(`${name}: ${mebibytes(before)}, now ${mebibytes(after)}\n`);
    }
  },
});

const mebibytes = (bytes: number) => `${(bytes / (1 << 20)).toFixed(1)} MiB`;

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
