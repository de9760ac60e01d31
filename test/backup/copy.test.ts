import { expect, test } from "bun:test";
import { join } from "node:path";
import { copyCatalog } from "../../src/backup/copy.ts";
import { openCatalog } from "../../src/catalog/open.ts";
import { covers } from "../../src/pipeline/model/routes.ts";
import { openStore } from "../../src/store/lmdb/lmdb-store.ts";
import { freshDirectory, logger } from "../catalog/_setup.ts";

test("copied connections deliver from the beginning of the new logs, whatever the names of the old ones", async () => {
  await using stack = new AsyncDisposableStack();
  const [old, made] = [await freshDirectory(), await freshDirectory()];
  const before = await openCatalog({ directory: old, logger });
  const { id } = await before.workspaces.create("Acme");
  const source = await before.sources.create(id, { name: "Shop" });
  const connect = async (enabled: boolean) => {
    const input = { name: "Sink", type: "file", config: {} };
    const { id: destinationId } = await before.destinations.create(id, input);
    const pair = { sourceId: source.id, destinationId };
    const made = await before.connections.create(id, pair, { "0": 5_000 });
    if (!enabled) await before.connections.update(id, made.id, { enabled }, { "0": 6_000 });
    return destinationId;
  };
  const [live, paused] = [await connect(true), await connect(false)];
  await before.close();

  const open = (of: string) => {
    const store = openStore({ path: join(of, "catalog.mdb"), name: "The catalog", logger });
    stack.defer(() => store.close());
    return store;
  };
  await copyCatalog(open(old), open(made), { "0": 3 });
  const after = await openCatalog({ directory: made, logger });
  stack.defer(() => after.close());
  const delivers = (destinationId: string, sequence: number) =>
    covers(after.live.lane(destinationId)!.connections[0]!, "0", sequence);
  expect([0, 2, 3, 9_000].map((it) => delivers(live, it))).toEqual([true, true, true, true]);
  expect([0, 2, 3, 9_000].map((it) => delivers(paused, it))).toEqual([true, true, false, false]);
});
