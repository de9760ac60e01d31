import { defineCommand } from "citty";
import { type Permission, permissions } from "../catalog/model.ts";
import { parseName } from "../catalog/name.ts";
import { StartError } from "../errors.ts";
import { expectDataDirectory } from "../first-start/data-directory.ts";
import { configFlags, loadConfig } from "../settings/reader.ts";
import { withCatalog } from "./catalog.ts";

const create = defineCommand({
  meta: { name: "token create", description: "Create a service token and print it once" },
  args: {
    workspace: { type: "string", description: "workspace id [the oldest workspace]" },
    name: { type: "string", description: "name of the token [cli]" },
    permissions: { type: "string", description: "comma-separated permissions [all]" },
    ...configFlags,
  },
  async run({ args }) {
    const name = parseName((args.name as string) ?? "cli");
    const chosen = permissionsOf(args.permissions as string | undefined);
    const config = loadConfig(args);
    expectDataDirectory(config);
    await withCatalog(config, async ({ workspaces, tokens }) => {
      const workspaceId = (args.workspace as string) ?? workspaces.list()[0]?.id;
      if (workspaceId === undefined || !workspaces.get(workspaceId)) {
        throw new StartError(
          `Expected the id of a workspace of ${config.data}; pixelmill workspace list prints them`,
        );
      }
      const { secret } = await tokens.create(workspaceId, { name, permissions: chosen });
      process.stdout.write(`token ${secret}\n`);
    });
  },
});

function permissionsOf(list: string | undefined): Permission[] {
  if (list === undefined) return [...permissions];
  const named = list.split(",").map((name) => name.trim());
  const unknown = named.find((name) => !(permissions as readonly string[]).includes(name));
  if (unknown !== undefined) {
    throw new StartError(
      `Unknown permission ${unknown}; expected some of ${permissions.join(", ")}`,
    );
  }
  return named as Permission[];
}

export const token = defineCommand({
  meta: { name: "token", description: "Tokens of a data directory, also while it is served" },
  subCommands: { create },
});
