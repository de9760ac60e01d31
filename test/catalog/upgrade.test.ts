import { expect, test } from "bun:test";
import { openCatalog } from "../../src/catalog/open.ts";
import { openStore } from "../../src/catalog/store.ts";
import { MemoryLog } from "../store/memory-log.ts";
import { freshDirectory, logger } from "./_setup.ts";

test("a new catalog names the steps of earlier executables, which would run them otherwise", async () => {
  const directory = await freshDirectory();
  for (let start = 0; start < 2; start++) {
    const catalog = await openCatalog({ directory, logger });
    await catalog.close();
    const store = openStore(directory, logger);
    const upgrades = store.table<true, string>("upgrades");
    const names = [...upgrades.getKeys({})];
    expect(names.every((name) => upgrades.get(name))).toBe(true);
    await store.close();
    expect(names).toHaveLength(7);
    expect(names).toContain("format 1");
    expect(names).toContain("events:replay is a permission of its own");
  }
});

test("a catalog opens although the log refuses the first changes", async () => {
  let refusals = 2;
  class RefusingLog extends MemoryLog {
    override append(entry: Uint8Array): Promise<number> {
      // Empty entries are not changes; they show where the log ends.
      if (entry.length === 0 || refusals === 0) return super.append(entry);
      refusals--;
      return Promise.reject(new Error("The brokers are slow"));
    }
  }
  const order = new RefusingLog({ delayMs: () => 0 });
  const catalog = await openCatalog({ directory: await freshDirectory(), logger, order });
  expect(refusals).toBe(0);
  await catalog.close();
});
