import { defineCommand } from "citty";
import type { BackupContents } from "../backup/verify.ts";
import { expectDataDirectory, expectStandaloneData } from "../first-start/data-directory.ts";
import { configFlags, loadConfig } from "../settings/reader.ts";

export const backup = defineCommand({
  meta: {
    name: "backup",
    description: "Copy a data directory into a file, also while it is served",
  },
  args: {
    file: { type: "positional", required: true, description: "the file to make (.tar.zst)" },
    ...configFlags,
  },
  async run({ args }) {
    const config = loadConfig(args);
    expectDataDirectory(config);
    expectStandaloneData(config);
    // Imported when the command runs: LMDB unpacks a library, which --help has to do without.
    const { backup } = await import("../backup/backup.ts");
    const { bytes, ...contents } = await backup(config, args.file as string);
    print(`backup ${args.file}: ${bytes.toLocaleString("en")} bytes, ${inWords(contents)}`);
    printWarnings(contents);
  },
});

export const restore = defineCommand({
  meta: { name: "restore", description: "Make a data directory of a backup" },
  args: {
    file: { type: "positional", required: true, description: "a file that pixelmill backup made" },
    hold: { type: "boolean", description: "deliver nothing there until pixelmill release" },
    ...configFlags,
  },
  async run({ args }) {
    const config = loadConfig(args);
    const { restore } = await import("../backup/restore.ts");
    const contents = await restore(config, args.file as string, args.hold === true);
    const held = args.hold === true ? "; deliveries are held until pixelmill release" : "";
    print(`restored ${config.data}: ${inWords(contents)}${held}`);
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

function inWords({ workspaces, records, deadLetters }: BackupContents): string {
  return `workspaces: ${workspaces}, events in the log: ${records}, dead letters: ${deadLetters}`;
}

function printWarnings({ warnings }: BackupContents): void {
  for (const warning of warnings) print(`warning: ${warning}`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
