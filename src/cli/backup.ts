import { defineCommand } from "citty";
import type { BackupContents } from "../backup/verify.ts";
import { expectDataDirectory, expectStandaloneData } from "../first-start/data-directory.ts";
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
