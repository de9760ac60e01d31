import { expect, jest, onTestFinished, test } from "bun:test";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { ItemLimits } from "../../src/catalog/management/item-limits.ts";
import { openTokens } from "../../src/catalog/management/tokens.ts";
import { isSecret } from "../../src/catalog/secrets.ts";
import { type CatalogStore, openStore } from "../../src/catalog/store.ts";
import { openCodeTables } from "../../src/catalog/tables/code-tables.ts";
import { openTables } from "../../src/catalog/tables/tables.ts";
import { freshCatalog, freshDirectory, freshWorkspace, logger, refusalOf } from "./_setup.ts";
import { contradictions } from "./consistency.ts";

const legacyFive = [
  "destinations:connect",
  "libraries:edit",
  "transformations:connect",
  "transformations:create-delete",
  "transformations:edit",
];

test("a service token has its own permissions", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const permissions = ["libraries:edit" as const];
  const { token, secret } = await catalog.tokens.create(workspaceId, { name: "CI", permissions });
  expect(isSecret(secret)).toBe(true);
  expect(catalog.tokens.authenticate(secret)).toEqual({
    workspaceId,
    tokenId: token.id,
    permissions: new Set(permissions),
  });
});

test("a token's secret is not on disk", async () => {
  const directory = await freshDirectory();
  const catalog = await freshCatalog(directory);
  const { id } = await catalog.workspaces.create("Acme");
  const { token, secret } = await catalog.tokens.create(id, { name: "CI", permissions: [] });
  await catalog.close();
  expect(JSON.stringify(token)).not.toContain(secret);
  for (const file of await readdir(directory)) {
    expect((await readFile(join(directory, file))).includes(secret)).toBe(false);
  }
});

test("unknown, expired and revoked secrets do not authenticate", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const input = { name: "CI", permissions: [] };
  const expired = await catalog.tokens.create(workspaceId, { ...input, expiresAt: Date.now() - 1 });
  const later = await catalog.tokens.create(workspaceId, {
    ...input,
    expiresAt: Date.now() + 60_000,
  });
  const revoked = await catalog.tokens.create(workspaceId, input);
  expect(catalog.tokens.authenticate(revoked.secret)).toBeDefined();
  await catalog.tokens.revoke(workspaceId, revoked.token.id);
  const unknown = ["", "x", `pm_${"a".repeat(40)}`, "pm_".padEnd(9_000, "z"), expired.secret];
  for (const secret of [...unknown, revoked.secret]) {
    expect(catalog.tokens.authenticate(secret)).toBeUndefined();
  }
  expect(catalog.tokens.authenticate(later.secret)).toBeDefined();
  const again = () => catalog.tokens.revoke(workspaceId, revoked.token.id);
  expect((await refusalOf(again)).refusal).toBe("missing");
});

test("a caller may choose a token's secret, once and in the right form", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const secret = `pm_${"a1B2".repeat(10)}`;
  const input = { name: "Admin", permissions: ["workspace:admin" as const], secret };
  expect((await catalog.tokens.create(workspaceId, input)).secret).toBe(secret);
  expect((await refusalOf(() => catalog.tokens.create(workspaceId, input))).refusal).toBe(
    "conflict",
  );
  const short = { ...input, secret: "pm_short" };
  expect((await refusalOf(() => catalog.tokens.create(workspaceId, short))).refusal).toBe(
    "invalid",
  );
});

test("a personal token has the current permissions of its member and ends with it", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const member = await catalog.members.create(workspaceId, {
    name: "Ada",
    email: "ada@example.com",
  });
  const input = { name: "Mine", permissions: ["workspace:admin" as const], memberId: member.id };
  const { token, secret } = await catalog.tokens.create(workspaceId, input);
  const now = (): string[] =>
    [...(catalog.tokens.authenticate(secret)?.permissions ?? ["gone"])].sort();

  expect(now()).toEqual([]);
  await catalog.members.update(workspaceId, member.id, { permissions: ["events:read"] });
  expect(now()).toEqual(["events:read"]);
  await catalog.members.update(workspaceId, member.id, {
    role: "admin",
    editTransformations: true,
  });
  expect(now()).toEqual([...legacyFive, "events:read"].sort());
  await catalog.members.update(workspaceId, member.id, { editTransformations: false });
  expect(now()).toEqual(["events:read"]);
  await catalog.members.remove(workspaceId, member.id);
  expect(now()).toEqual(["gone"]);
  const revoke = () => catalog.tokens.revoke(workspaceId, token.id);
  expect((await refusalOf(revoke)).refusal).toBe("missing");
});

test("a personal token needs a member of its workspace", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const other = (await catalog.workspaces.create("Other")).id;
  const { id } = await catalog.members.create(other, { name: "Eve", email: "eve@example.com" });
  const create = () =>
    catalog.tokens.create(workspaceId, { name: "x", permissions: [], memberId: id });
  expect((await refusalOf(create)).refusal).toBe("missing");
  expect(catalog.tokens.list(workspaceId, 1).total).toBe(0);
});

test("lastUsedAt is shown at once and survives a restart", async () => {
  const directory = await freshDirectory();
  const catalog = await freshCatalog(directory);
  const { id } = await catalog.workspaces.create("Acme");
  const { secret } = await catalog.tokens.create(id, { name: "CI", permissions: [] });
  expect(catalog.tokens.list(id, 1).items[0]?.lastUsedAt).toBeUndefined();
  const before = Date.now();
  catalog.tokens.authenticate(secret);
  const used = catalog.tokens.list(id, 1).items[0]?.lastUsedAt ?? 0;
  expect(used).toBeGreaterThanOrEqual(before);
  await catalog.close();
  const again = await freshCatalog(directory);
  expect(again.tokens.list(id, 1).items[0]?.lastUsedAt).toBe(used);
});

test("lastUsedAt is stored in the background", async () => {
  const directory = await freshDirectory();
  const catalog = await freshCatalog(directory);
  const { id } = await catalog.workspaces.create("Acme");
  const { secret } = await catalog.tokens.create(id, { name: "CI", permissions: [] });
  const other = await freshCatalog(directory);
  const storedUse = () => other.tokens.list(id, 1).items[0]?.lastUsedAt;
  expect(storedUse()).toBeUndefined();
  jest.useFakeTimers();
  catalog.tokens.authenticate(secret);
  const used = catalog.tokens.list(id, 1).items[0]?.lastUsedAt;
  jest.advanceTimersByTime(60_000);
  jest.useRealTimers();
  while (storedUse() === undefined) await Bun.sleep(20);
  expect(storedUse()).toBe(used);
}, 300_000);

test("a token's use during the flush of an earlier use is stored", async () => {
  const store = openStore(await freshDirectory(), logger);
  onTestFinished(() => store.close());
  const stored = Promise.withResolvers<void>();
  const mayGoOn = Promise.withResolvers<void>();
  let isSlow = false;
  const slow: CatalogStore = {
    ...store,
    async change(apply) {
      const result = await store.change(apply);
      if (isSlow) {
        stored.resolve();
        await mayGoOn.promise;
      }
      return result;
    },
  };
  const tables = openTables(store);
  const limits = new ItemLimits({}, tables, openCodeTables(store));
  const tokens = openTokens(slow, tables, limits, logger);
  const { secret } = await tokens.create("workspace", { name: "CI", permissions: [] });
  isSlow = true;
  const lastUse = () => tokens.list("workspace", 1).items[0]!.lastUsedAt!;
  tokens.authenticate(secret);
  const first = lastUse();
  const flushing = tokens.flush();
  await stored.promise;
  while (lastUse() === first) {
    await Bun.sleep(1);
    tokens.authenticate(secret);
  }
  const second = lastUse();
  mayGoOn.resolve();
  await flushing;
  expect(lastUse()).toBe(second);
  await tokens.flush();
  expect(lastUse()).toBe(second);
});

test("a removed token leaves no time of last use, even if one was about to be stored", async () => {
  const directory = await freshDirectory();
  const before = await freshCatalog(directory);
  const { id } = await before.workspaces.create("Acme");
  const member = await before.members.create(id, { name: "Ada", email: "ada@example.com" });
  const input = { name: "CI", permissions: [] };
  const service = await before.tokens.create(id, input);
  const personal = await before.tokens.create(id, { ...input, memberId: member.id });
  const use = ({ tokens }: Catalog) => {
    for (const { secret } of [service, personal]) tokens.authenticate(secret);
  };
  use(before);
  // Closing writes the uses that are noted.
  await before.close();
  const catalog = await freshCatalog(directory);
  use(catalog);
  await catalog.tokens.revoke(id, service.token.id);
  await catalog.members.remove(id, member.id);
  expect(await contradictions(directory)).toEqual([]);
  await catalog.close();
  expect(await contradictions(directory)).toEqual([]);
});

test("a closed catalog refuses changes", async () => {
  const catalog = await freshCatalog();
  await catalog.close();
  await catalog.close();
  expect((await refusalOf(() => catalog.workspaces.create("Late"))).refusal).toBe("unavailable");
});
