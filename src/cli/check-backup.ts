import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineCommand } from "citty";
import { configFlags, loadConfig } from "../settings/reader.ts";
import { inWords } from "./backup.ts";

export const checkBackup = defineCommand({
  meta: {
    name: "check backup",
    description: "Unpack a backup, read all of it, and remove it again",
  },
  args: {
    file: {
      type: "positional",
      required: true,
      description: "a backup: a file, s3://BUCKET/KEY, or s3://BUCKET/PREFIX/ for the newest",
    },
    directory: {
      type: "string",
      description: "place for what is unpacked [the temporary directory]",
      valueHint: "directory",
    },
    ...configFlags,
  },
  async run({ args }) {
    const config = loadConfig(args);
    // Imported only when the command runs: LMDB unpacks a library, which `--help` must not do.
    const { archiveSource } = await import("../backup/archive-source.ts");
    const { verify } = await import("../backup/verify.ts");
    const archive = await archiveSource(config, args.file as string);
    const place = String(args.directory ?? tmpdir());
    const directory = mkdtempSync(join(place, "pixelmill-check-"));
    try {
      const contents = await verify(archive, directory);
      const name = archive.name.startsWith("s3:") ? archive.name : args.file;
      process.stdout.write(`ok    backup ${name}: ${inWords(contents)}\n`);
      for (const warning of contents.warnings) process.stdout.write(`warns ${warning}\n`);
    } finally {
      rmSync(directory, { recursive: true, force: true });
      archive.close();
    }
  },
});
