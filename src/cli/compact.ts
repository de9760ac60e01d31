import { existsSync } from "node:fs";
import { join } from "node:path";
import { defineCommand } from "citty";
import {
  catalogDirectory,
  deliveryDirectory,
  expectDataDirectory,
  expectStandaloneData,
} from "../first-start/data-directory.ts";
import { configFlags, loadConfig } from "../settings/reader.ts";

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
