import { expect, test } from "bun:test";
import { openStore } from "../../src/catalog/store.ts";
import { openCodeTables } from "../../src/catalog/tables/code-tables.ts";
import { destination, freshCatalog, freshDirectory, logger, publish, store } from "./_setup.ts";

/** Broken states, written past the rules of the catalog: the verb that meets one fails. */

async function published() {
  const directory = await freshDirectory();
  const catalog = await freshCatalog(directory);
  const workspaceId = (await catalog.workspaces.create("Acme")).id;
  const revision = await store(catalog, workspaceId, "transformation", { code: "one" });
  await publish(catalog, revision);
  const raw = openStore(directory, logger);
  return { catalog, workspaceId, revision, raw };
}

test("an epoch that stepped back refuses the next change", async () => {
  const { catalog, workspaceId, raw } = await published();
  await catalog.sources.create(workspaceId, { name: "One" });
  await catalog.sources.create(workspaceId, { name: "Two" });
  catalog.live.topology();
  const epochs = raw.table<number, string>("epochs");
  await raw.change(() => epochs.put("topology", 0));
  await raw.close();
  const create = catalog.sources.create(workspaceId, { name: "Three" });
  await expect(create).rejects.toThrow("An epoch only ascends");
});

test("a stored versionId without its revision is a broken invariant", async () => {
  const { catalog, workspaceId, revision, raw } = await published();
  const revisions = raw.table<object, string>("revisions");
  await raw.change(() => revisions.remove(revision.versionId));
  await raw.close();
  const read = () => catalog.code.newestRevision(workspaceId, "transformation", revision.id);
  expect(read).toThrow("A stored versionId has its revision");
});

test("a link that only one of its tables has is a broken invariant", async () => {
  const { catalog, workspaceId, revision, raw } = await published();
  const destinationId = await destination(catalog, workspaceId);
  await catalog.code.link(workspaceId, revision.id, destinationId);
  const order = raw.table<string, [string, string]>("links-by-transformation");
  await raw.change(() => {
    for (const key of [...order.getKeys({})]) order.remove(key);
  });
  await raw.close();
  const unlink = catalog.code.unlink(workspaceId, revision.id, destinationId);
  await expect(unlink).rejects.toThrow("in both tables");
});

test("a resource that is published and deleted, or gets an older newest revision, is not stored", async () => {
  const { revision, raw } = await published();
  const tables = openCodeTables(raw);
  const resource = tables.resource(revision.id)!;
  const put = (change: object) => raw.change(() => tables.putResource({ ...resource, ...change }));
  await expect(put({ deleted: true })).rejects.toThrow("A published resource is not deleted");
  await expect(put({ newest: "0".repeat(27) })).rejects.toThrow("never replaced by an older");
  await raw.close();
});
