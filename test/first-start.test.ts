import { expect, test } from "bun:test";
import { pino } from "pino";
import { openCatalog } from "../src/catalog/open.ts";
import { firstWorkspace } from "../src/first-start.ts";
import { PAGE_ITEMS_MAX } from "../src/limits.ts";
import { removeDirectory, temporaryDirectory } from "./e2e/server.ts";

test("a changed admin.token replaces the one before, however many tokens there are", async () => {
  const directory = temporaryDirectory();
  const catalog = await openCatalog({ directory, logger: pino({ level: "silent" }) });
  const [first, second, third] = ["1", "2", "3"].map((digit) => `pm_${digit.repeat(32)}`);
  const start = (adminToken: string | undefined) =>
    firstWorkspace(catalog, { name: "Main", adminToken, print: () => {} });

  const { id } = await start(first);
  for (let n = 0; n < PAGE_ITEMS_MAX; n++) {
    await catalog.tokens.create(id, { name: `other ${n}`, permissions: [] });
  }
  // This one is on the second page.
  await start(second);
  await start(third);
  const valid = [first, second, third].map((secret) => !!catalog.tokens.authenticate(secret!));
  expect(valid).toEqual([false, false, true]);
  expect(catalog.tokens.list(id, 1).total).toBe(PAGE_ITEMS_MAX + 1);
  await catalog.close();
  removeDirectory(directory);
});
