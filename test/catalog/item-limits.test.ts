import { expect, onTestFinished, test } from "bun:test";
import type { Catalog } from "../../src/catalog/catalog.ts";
import {
  type ItemsMax,
  type LimitedItem,
  limitedItems,
} from "../../src/catalog/management/item-limits.ts";
import { openCatalog } from "../../src/catalog/open.ts";
import { configSchema } from "../../src/settings/schema.ts";
import { destination, freshDirectory, logger, publish, refusalOf, store } from "./_setup.ts";

async function openWith(directory: string, itemsMax: ItemsMax): Promise<Catalog> {
  return await openCatalog({ directory, logger, itemsMax });
}

const source = (catalog: Catalog, workspaceId: string) =>
  catalog.sources.create(workspaceId, { name: "Source" });

/** Adds one item of each kind to a workspace, and nothing else that has a limit. */
const add: Record<LimitedItem, (catalog: Catalog, workspaceId: string) => Promise<unknown>> = {
  sources: source,
  destinations: destination,
  async connections(catalog, workspaceId) {
    const { id: sourceId } = await source(catalog, workspaceId);
    const destinationId = await destination(catalog, workspaceId);
    await catalog.connections.create(workspaceId, { sourceId, destinationId }, {});
  },
  transformations: (catalog, workspaceId) => store(catalog, workspaceId, "transformation"),
  libraries: (catalog, workspaceId) => store(catalog, workspaceId, "library"),
  revisions: (catalog, workspaceId) => store(catalog, workspaceId, "transformation"),
  members: (catalog, workspaceId) =>
    catalog.members.create(workspaceId, { name: "A", email: "a@example.com" }),
  // Tokens that the operator creates (without a grantor) have no limit.
  tokens(catalog, workspaceId) {
    const [first] = catalog.tokens.list(workspaceId, 1).items;
    const grantor = first && { tokenId: first.id, permissions: new Set<never>() };
    return catalog.tokens.create(workspaceId, { name: "A", permissions: [] }, grantor);
  },
  credentials: (catalog, workspaceId) =>
    catalog.credentials.put(workspaceId, `c${crypto.randomUUID().replaceAll("-", "")}`, "v"),
};

test.each(limitedItems)(
  "%s of a workspace are limited, and another workspace has its own",
  async (items) => {
    const directory = await freshDirectory();
    const catalog = await openWith(directory, { [items]: 3 });
    onTestFinished(() => catalog.close());
    const { id: one } = await catalog.workspaces.create("One");
    const { id: other } = await catalog.workspaces.create("Other");
    for (let n = 0; n < 3; n++) await add[items](catalog, one);
    const refusal = await refusalOf(() => add[items](catalog, one));
    expect([refusal.refusal, refusal.message]).toEqual([
      "conflict",
      `Expected at most 3 ${items} of a workspace, got one more; the setting workspace.${items} is the limit`,
    ]);
    await add[items](catalog, other);
  },
);

test("a removed item makes room, and a workspace above its limit keeps what it has", async () => {
  const directory = await freshDirectory();
  const before = await openWith(directory, {});
  const { id } = await before.workspaces.create("One");
  const made = [];
  for (let n = 0; n < 5; n++) made.push(await source(before, id));
  await before.close();

  const catalog = await openWith(directory, { sources: 3 });
  onTestFinished(() => catalog.close());
  const full = () => refusalOf(() => source(catalog, id));
  expect((await full()).refusal).toBe("conflict");
  await catalog.sources.update(id, made[0]!.id, { name: "Renamed" });
  expect(catalog.sources.list(id, 1).total).toBe(5);
  for (const one of made.slice(0, 2)) await catalog.sources.remove(id, one.id);
  await full();
  await catalog.sources.remove(id, made[2]!.id);
  await source(catalog, id);
  await full();
});

test("revisions of deleted code count, since they are kept", async () => {
  const directory = await freshDirectory();
  const catalog = await openWith(directory, { revisions: 2, transformations: 1 });
  onTestFinished(() => catalog.close());
  const { id } = await catalog.workspaces.create("One");
  for (let n = 0; n < 2; n++) {
    const revision = await store(catalog, id, "transformation");
    await catalog.code.remove(id, "transformation", revision.id);
  }
  const refusal = await refusalOf(() => store(catalog, id, "transformation"));
  expect(refusal.message).toContain("workspace.revisions");
});

test("deleted code counts again once it is restored", async () => {
  const directory = await freshDirectory();
  const catalog = await openWith(directory, { transformations: 1, libraries: 1 });
  onTestFinished(() => catalog.close());
  const { id } = await catalog.workspaces.create("One");
  for (const kind of ["transformation", "library"] as const) {
    const deleted = await store(catalog, id, kind);
    await catalog.code.remove(id, kind, deleted.id);
    const other = await store(catalog, id, kind, { name: "Other" });
    expect((await refusalOf(() => publish(catalog, deleted))).refusal).toBe("conflict");
    await catalog.code.remove(id, kind, other.id);
    await publish(catalog, deleted);
  }
});

test("every kind has a setting with a limit", () => {
  for (const items of limitedItems) {
    const { default: max } = configSchema.properties[`workspace.${items}`];
    expect([items, max > 0]).toEqual([items, true]);
  }
  // Tests of the console use 2,000 destinations.
  expect(configSchema.properties["workspace.destinations"].default).toBeGreaterThan(2_000);
});
