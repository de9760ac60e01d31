import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { defineCommand } from "citty";

export const checkBackup = defineCommand({
  meta: {
    name: "check backup",
    description: "Unpack a backup, read all of it, and remove it again",
  },
  args: {
    file: { type: "positional", required: true, description: "a file that pixelmill backup made" },
    directory: {
      type: "string",
      description: "place for what is unpacked [the temporary directory]",
      valueHint: "directory",
    },
  },
  async run({ args }) {
    // Imported when the command runs: LMDB unpacks a library, which --help has to do without.
    const { verify } = await import("../backup/verify.ts");
    const place = String(args.directory ?? tmpdir());
    const directory = mkdtempSync(join(place, "pixelmill-check-"));
    try {
      const { workspaces, records, deadLetters, warnings } = await verify(
        resolve(args.file as string),
        directory,
      );
      const counts = `workspaces: ${workspaces}, events in the log: ${records}, dead letters: ${deadLetters}`;
      process.stdout.write(`ok    backup ${args.file}: ${counts}\n`);
      for (const warning of warnings) process.stdout.write(`warns ${warning}\n`);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  },
});
