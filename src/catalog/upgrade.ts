import { SHARED_FORMAT } from "../store/ordered/change-set.ts";
import { type Permission, permissions } from "./model.ts";
import type { CatalogStore } from "./store.ts";
import type { CodeTables } from "./tables/code-tables.ts";
import type { Tables } from "./tables/tables.ts";

/**
 * One conversion of data that an older release stored. The conversion runs once, in one
 * transaction, before the catalog is read.
 */
interface Step {
  name: string;
  apply(tables: Tables, code: CodeTables): void;
}

const steps: readonly Step[] = [
  {
    // This row is stored before any other row in the new format: older nodes stop at it.
    name: `format ${SHARED_FORMAT}`,
    apply() {},
  },
  {
    // Tokens whose permission `events:read` allowed replays and purges keep this right.
    name: "events:replay is a permission of its own",
    apply({ tokens, members }) {
      for (const token of tokens.all()) tokens.put(withReplay(token));
      for (const member of members.all()) members.put(withReplay(member));
    },
  },
  {
    name: "drafts are listed by workspace",
    apply(_, code) {
      for (const resource of code.allResources()) code.putResource(resource);
    },
  },
  {
    name: "sources, destinations and connections are listed by their external ids",
    apply: indexAgain,
  },
  {
    name: "revisions are counted by workspace",
    apply(_, code) {
      code.revisions.recount((id) => code.resource(id)?.workspaceId);
    },
  },
  {
    name: "sources, destinations and connections are found by their external ids",
    apply: indexAgain,
  },
  {
    // Tokens and members with all permissions can give the new permission to others.
    name: "workspace-config:read is a permission of its own",
    apply({ tokens, members }) {
      for (const token of tokens.all()) tokens.put(withEveryPermission(token));
      for (const member of members.all()) members.put(withEveryPermission(member));
    },
  },
];

/**
 * Converts a catalog that an older release wrote. Runs only the conversions that have not run yet.
 * Several processes may call this at the same time; each conversion still runs once.
 */
export async function upgrade(
  store: CatalogStore,
  tables: Tables,
  code: CodeTables,
): Promise<void> {
  const done = store.table<true, string>("upgrades");
  for (const { name, apply } of steps) {
    if (done.get(name)) continue;
    await store.change(() => {
      if (done.get(name)) return;
      apply(tables, code);
      done.put(name, true);
    });
  }
}

/** Stores every source, destination and connection again, which also writes their index entries. */
function indexAgain({ sources, destinations, connections }: Tables): void {
  for (const source of sources.all()) sources.put(source);
  for (const destination of destinations.all()) destinations.put(destination);
  for (const connection of connections.all()) connections.put(connection);
}

/** Returns an item with all permissions of this release, if it has all those of older ones. */
function withEveryPermission<T extends { permissions: Permission[] }>(holder: T): T {
  const older = permissions.filter((it) => it !== "workspace-config:read");
  const hasAll = older.every((permission) => holder.permissions.includes(permission));
  return hasAll ? { ...holder, permissions: [...permissions] } : holder;
}

function withReplay<T extends { permissions: Permission[] }>(holder: T): T {
  const { permissions } = holder;
  if (!permissions.includes("events:read") || permissions.includes("events:replay")) return holder;
  return { ...holder, permissions: [...permissions, "events:replay"] };
}
