import { defineCommand } from "citty";
import { auditBoundsOf } from "../backend/backend.ts";
import { runAs } from "../catalog/audit/caller.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { newId } from "../catalog/ids.ts";
import { type Permission, permissions } from "../catalog/model.ts";
import { parseName } from "../catalog/name.ts";
import { StartError } from "../errors.ts";
import {
  catalogDirectory,
  expectDataDirectory,
  expectStandaloneData,
  prepareDataDirectory,
} from "../first-start/data-directory.ts";
import { createLogger } from "../observe/log.ts";
import type { Config } from "../settings/keys.ts";
import { configFlags, loadConfig } from "../settings/reader.ts";

/**
 * Opens the catalog, calls `use` with it, and closes it. A server may have the catalog open at the
 * same time. Throws `StartError` when the data directory belongs to a node of a cluster.
 */
export async function withCatalog(
  config: Config,
  use: (catalog: Catalog) => Promise<void> | void,
): Promise<void> {
  expectStandaloneData(config);
  const logger = createLogger(config["log.level"]);
  // Imported only when a command runs: LMDB unpacks a library, which `--help` must not do.
  const { openCatalog } = await import("../catalog/open.ts");
  const directory = catalogDirectory(config);
  const catalog = await openCatalog({ directory, logger, audit: auditBoundsOf(config) });
  try {
    await runAs({ route: "command line", requestId: newId() }, () => use(catalog));
  } finally {
    await catalog.close();
  }
}

const createToken = defineCommand({
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
  subCommands: { create: createToken },
});

const createWorkspace = defineCommand({
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

const listWorkspaces = defineCommand({
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
  subCommands: { create: createWorkspace, list: listWorkspaces },
});
