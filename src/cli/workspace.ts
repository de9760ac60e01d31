import { defineCommand } from "citty";
import { permissions } from "../catalog/model.ts";
import { parseName } from "../catalog/name.ts";
import { expectDataDirectory, prepareDataDirectory } from "../first-start/data-directory.ts";
import { configFlags, loadConfig } from "../settings/reader.ts";
import { withCatalog } from "./catalog.ts";

const create = defineCommand({
  meta: { name: "workspace create", description: "Create a workspace and its admin token" },
  args: {
    name: { type: "positional", required: true, description: "name of the workspace" },
    ...configFlags,
  },
  async run({ args }) {
    const name = parseName(args.name as string);
    const config = loadConfig(args);
    prepareDataDirectory(config);
    await withCatalog(config, async ({ workspaces, tokens }) => {
      const workspace = await workspaces.create(name);
      const admin = { name: "admin", permissions: [...permissions] };
      const { secret } = await tokens.create(workspace.id, admin);
      process.stdout.write(`workspace ${workspace.id}\nadmin token ${secret}\n`);
    });
  },
});

const list = defineCommand({
  meta: { name: "workspace list", description: "List the workspaces, id and name, oldest first" },
  args: configFlags,
  async run({ args }) {
    const config = loadConfig(args);
    expectDataDirectory(config);
    await withCatalog(config, ({ workspaces }) => {
      for (const { id, name } of workspaces.list()) {
        // A name may contain a line break, but each workspace has one line.
        process.stdout.write(`${id} ${name.replace(/\p{Cc}/gu, " ")}\n`);
      }
    });
  },
});

export const workspace = defineCommand({
  meta: {
    name: "workspace",
    description: "Workspaces of a data directory, also while it is served",
  },
  subCommands: { create, list },
});
