import { defineCommand } from "citty";
import { permissions } from "../catalog/model.ts";
import { keptName } from "../catalog/name.ts";
import { openCatalog } from "../catalog/open.ts";
import { configFlags, loadConfig } from "../config.ts";
import { catalogDirectory, prepareData } from "../data.ts";
import { createLogger } from "../observe/log.ts";

const create = defineCommand({
  meta: { name: "workspace create", description: "Create a workspace and its admin token" },
  args: {
    name: { type: "positional", required: true, description: "name of the workspace" },
    ...configFlags,
  },
  async run({ args }) {
    const name = keptName(args.name as string);
    const config = loadConfig(args);
    const logger = createLogger(config["log.level"]);
    prepareData(config);
    const catalog = await openCatalog({ directory: catalogDirectory(config), logger });
    try {
      const workspace = await catalog.workspaces.create(name);
      const { secret } = await catalog.tokens.create(workspace.id, {
        name: "admin",
        permissions: [...permissions],
      });
      process.stdout.write(`workspace ${workspace.id}\nadmin token ${secret}\n`);
    } finally {
      await catalog.close();
    }
  },
});

export const workspace = defineCommand({
  meta: {
    name: "workspace",
    description: "Workspaces of a data directory, also while it is served",
  },
  subCommands: { create },
});
