import { expect, test } from "bun:test";
import { openCatalog } from "../../src/catalog/open.ts";
import { openStore } from "../../src/catalog/store.ts";
import { freshDirectory, logger } from "./_setup.ts";

test("an upgraded catalog keeps the permissions of its tokens and lists its drafts", async () => {
  const directory = await freshDirectory();
  const before = await openCatalog({ directory, logger });
  const { id: workspaceId } = await before.workspaces.create("Acme");
  const { secret } = await before.tokens.create(workspaceId, {
    name: "operator",
    permissions: ["events:read"],
  });
  const member = await before.members.create(workspaceId, {
    name: "Ada",
    email: "ada@example.com",
    permissions: ["events:read"],
  });
  const draft = before.code.draft(workspaceId, "transformation", {
    name: "T",
    code: "",
    language: "javascript",
  });
  const source = await before.sources.create(workspaceId, { name: "S", externalId: "s" });
  const destination = await before.destinations.create(workspaceId, {
    ...{ name: "D", type: "file", config: {}, externalId: "d" },
  });
  const pair = { sourceId: source.id, destinationId: destination.id, externalId: "c" };
  const connection = await before.connections.create(workspaceId, pair, {});
  const change = { revisions: [draft], publish: [], links: [], usedLibraries: [] };
  await before.code.commit(workspaceId, change);
  expect(before.tokens.authenticate(secret)?.permissions).toEqual(new Set(["events:read"]));
  await before.close();

  // The state of the older version: no upgrade step was made, and drafts have no index.
  const store = openStore(directory, logger);
  const marks = ["sources", "destinations", "connections"].map((name) => `${name}-by-mark`);
  const lists = [...marks, "drafts-by-workspace"].map((it) => store.table<true, string[]>(it));
  const upgrades = store.table<true, string>("upgrades");
  await store.change(() => {
    for (const { key } of [...upgrades.getRange({})]) upgrades.remove(key);
    for (const list of lists) for (const { key } of [...list.getRange({})]) list.remove(key);
  });
  await store.close();

  const after = await openCatalog({ directory, logger });
  const both = new Set(["events:read", "events:replay"]);
  expect(after.tokens.authenticate(secret)?.permissions as Set<string>).toEqual(both);
  expect(new Set<string>(after.members.get(workspaceId, member.id).permissions)).toEqual(both);
  const drafts = [...after.code.listDrafts(workspaceId, "transformation")];
  expect(drafts.map(({ revision }) => revision.versionId)).toEqual([draft.versionId]);
  expect(after.sources.list(workspaceId, 1, true).items).toEqual([source]);
  expect(after.destinations.list(workspaceId, 1, true).items).toEqual([destination]);
  expect(after.connections.list(workspaceId, 1, true).items).toEqual([connection]);
  // Made once: what is granted from then on is what was asked for.
  const { token } = await after.tokens.create(workspaceId, {
    name: "reader",
    permissions: ["events:read"],
  });
  await after.close();
  const again = await openCatalog({ directory, logger });
  const { items } = again.tokens.list(workspaceId, 1);
  expect(items.find(({ id }) => id === token.id)?.permissions).toEqual(["events:read"]);
  await again.close();
});
