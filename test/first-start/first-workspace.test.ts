import { expect, spyOn, test } from "bun:test";
import { pino } from "pino";
import { permissions } from "../../src/catalog/model.ts";
import { openCatalog } from "../../src/catalog/open.ts";
import { ApiError } from "../../src/errors.ts";
import { expectSameToken, firstWorkspace } from "../../src/first-start/first-workspace.ts";
import { PAGE_ITEMS_MAX } from "../../src/settings/limits.ts";
import { loadConfig } from "../../src/settings/reader.ts";
import { removeDirectory, temporaryDirectory } from "../e2e/server.ts";

function flag() {
  let is = false;
  return {
    get: () => is,
    set(to: boolean) {
      is = to;
    },
  };
}

test("the start after one interrupted before it printed its token prints another", async () => {
  const directory = temporaryDirectory();
  const catalog = await openCatalog({ directory, logger: pino({ level: "silent" }) });
  const unprintedToken = flag();
  const printed: string[] = [];
  const start = (print: (line: string) => void) =>
    firstWorkspace(catalog, { name: "Main", adminToken: undefined, unprintedToken, print });
  const cut = start(() => {
    throw new Error("Killed");
  });
  await expect(cut).rejects.toThrow("Killed");
  for (let again = 0; again < 2; again++) await start((line) => void printed.push(line));
  expect(printed).toHaveLength(1);
  const [, secret = ""] = /^admin token (\S+) \(shown this once\)$/.exec(printed[0]!)!;
  expect(catalog.tokens.authenticate(secret)?.permissions.size).toBe(permissions.length);
  expect(catalog.workspaces.list()).toHaveLength(1);
  await catalog.close();
  removeDirectory(directory);
});

test("a changed admin.token replaces the one before, however many tokens there are", async () => {
  const directory = temporaryDirectory();
  const catalog = await openCatalog({ directory, logger: pino({ level: "silent" }) });
  const [first, second, third] = ["1", "2", "3"].map((digit) => `pm_${digit.repeat(32)}`);
  const start = (adminToken: string | undefined) =>
    firstWorkspace(catalog, { name: "Main", adminToken, unprintedToken: flag(), print: () => {} });

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

test("servers that start together with an empty catalog make one workspace and print one token", async () => {
  const directory = temporaryDirectory();
  const logger = pino({ level: "silent" });
  const catalogs = [
    await openCatalog({ directory, logger }),
    await openCatalog({ directory, logger }),
  ];
  const printed: string[] = [];
  const flags = catalogs.map(() => flag());
  const start = (adminToken?: string) =>
    Promise.all(
      catalogs.map((catalog, at) =>
        firstWorkspace(catalog, {
          ...{ name: "Main", adminToken, unprintedToken: flags[at]! },
          print: (line) => void printed.push(line),
        }),
      ),
    );
  const [one, other] = await start();
  expect(one!.id).toBe(other!.id);
  expect(printed).toHaveLength(1);
  expect(flags.map((it) => it.get())).toEqual([false, false]);
  await start(`pm_${"1".repeat(32)}`);
  await start(`pm_${"2".repeat(32)}`);
  expect(catalogs[0]!.workspaces.list()).toHaveLength(1);
  expect(catalogs[0]!.tokens.list(one!.id, 1).total).toBe(2);
  await Promise.all(catalogs.map((catalog) => catalog.close()));
  removeDirectory(directory);
});

test("a new node needs the admin.token of its cluster, if the cluster has one", async () => {
  const directory = temporaryDirectory();
  const catalog = await openCatalog({ directory, logger: pino({ level: "silent" }) });
  const [first, second] = ["1", "2"].map((digit) => `pm_${digit.repeat(32)}`);
  const start = (adminToken: string | undefined) =>
    firstWorkspace(catalog, { name: "Main", adminToken, unprintedToken: flag(), print: () => {} });
  const join = (adminToken: string | undefined) => {
    const token = adminToken !== undefined && { "admin.token": adminToken };
    expectSameToken(catalog, { ...loadConfig({}, {}), ...token, "cluster.name": "shop" });
  };
  const { id } = await start(undefined);
  await catalog.tokens.create(id, { name: "other", permissions: [] });
  join(undefined);
  join(first);
  await start(first);
  join(undefined);
  join(first);
  expect(() => join(second)).toThrow(
    "Expected the admin.token of the cluster shop, whose nodes have another one",
  );
  await catalog.close();
  removeDirectory(directory);
});

test("a workspace that has all the tokens it may own gets a changed setting's token", async () => {
  const directory = temporaryDirectory();
  const catalog = await openCatalog({ directory, logger: pino({ level: "silent" }) });
  const [first, second] = ["1", "2"].map((digit) => `pm_${digit.repeat(32)}`);
  const start = (adminToken: string) =>
    firstWorkspace(catalog, { name: "Main", adminToken, unprintedToken: flag(), print: () => {} });
  const { id } = await start(first!);
  await catalog.tokens.create(id, { name: "other", permissions: [] });
  catalog.setItemsMax({ tokens: 1 });
  await start(second!);
  expect(catalog.tokens.authenticate(first!)).toBeUndefined();
  expect(catalog.tokens.authenticate(second!)).toBeDefined();
  await catalog.close();
  removeDirectory(directory);
});

test("a token that cannot be stored ends the start, unless another node has stored it", async () => {
  const directory = temporaryDirectory();
  const catalog = await openCatalog({ directory, logger: pino({ level: "silent" }) });
  const adminToken = `pm_${"1".repeat(32)}`;
  const create = spyOn(catalog.tokens, "create");
  const start = (error: Error) => {
    create.mockRejectedValue(error);
    const options = { name: "Main", adminToken, unprintedToken: flag(), print: () => {} };
    return firstWorkspace(catalog, options);
  };
  const { id } = await start(new ApiError("conflict", "There is one"));
  expect((await start(new ApiError("missing", "It is gone"))).id).toBe(id);
  for (const error of [new ApiError("unavailable", "No disk"), new Error("A defect")]) {
    await expect(start(error)).rejects.toBe(error);
  }
  await catalog.close();
  removeDirectory(directory);
});
