import { expect, onTestFinished, test } from "bun:test";
import { newId } from "../../src/catalog/ids.ts";
import type { Grantor } from "../../src/catalog/management/grants.ts";
import type { MemberInput } from "../../src/catalog/management/members.ts";
import type { Permission, Resource } from "../../src/catalog/model.ts";
import { openStore } from "../../src/catalog/store.ts";
import { openCodeTables } from "../../src/catalog/tables/code-tables.ts";
import { CREDENTIAL_VALUE_CHARS_MAX } from "../../src/settings/limits.ts";
import {
  destination,
  freshDirectory,
  freshWorkspace,
  logger,
  publish,
  refusalOf,
  store,
} from "./_setup.ts";

test("a member's role is kept, replaced and removed, within the permissions of the caller", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { members } = catalog;
  const caller = { tokenId: newId(), permissions: new Set<Permission>(["events:read"]) };
  const person = { name: "Ada", email: "ada@example.com" };
  const create = (workspaceRole: "viewer" | "developer") =>
    members.create(workspaceId, { ...person, workspaceRole }, caller);
  const { id, workspaceRole } = await create("viewer");
  expect(workspaceRole).toBe("viewer");
  const update = (input: Partial<MemberInput>, by?: Grantor) =>
    members.update(workspaceId, id, input, by);
  expect((await update({ name: "Eve" }, caller)).workspaceRole).toBe("viewer");
  expect((await update({ workspaceRole: "operator" })).workspaceRole).toBe("operator");
  // A caller changes the name of a member with more permissions, and not the address.
  expect((await update({ name: "Ada" }, caller)).workspaceRole).toBe("operator");
  for (const verb of [
    () => create("developer"),
    () => update({ workspaceRole: "admin" }, caller),
    () => update({ permissions: ["audit:read"] }, caller),
    () => update({ email: "eve@example.com" }, caller),
  ]) {
    expect((await refusalOf(verb)).refusal).toBe("forbidden");
  }
  const [kept, ...others] = members.list(workspaceId, 1).items;
  expect(others).toEqual([]);
  expect(kept).toMatchObject({ ...person, workspaceRole: "operator", permissions: [] });
  expect((await update({ email: "eve@example.com" })).email).toBe("eve@example.com");
  expect("workspaceRole" in (await update({ workspaceRole: null }, caller))).toBe(false);
});

test("a token has no permission that its maker lacks, and expires no later than the maker's token", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { tokens } = catalog;
  const expiresAt = Date.now() + 60_000;
  const permissions: Permission[] = ["events:read"];
  const maker = await tokens.create(workspaceId, { name: "Maker", permissions, expiresAt });
  const grantor = tokens.authenticate(maker.secret)!;
  const create = async (more: object, by: Grantor = grantor) =>
    (await tokens.create(workspaceId, { name: "Made", permissions: [], ...more }, by)).token;
  expect(await create({ permissions })).toMatchObject({ permissions, expiresAt });
  expect(await create({ expiresAt: expiresAt - 1 })).toMatchObject({ expiresAt: expiresAt - 1 });
  const person = { name: "Ada", email: "ada@example.com" };
  const { id: memberId } = await catalog.members.create(workspaceId, person);
  for (const more of [
    { expiresAt: expiresAt + 1 },
    { permissions: ["events:replay"] },
    { memberId },
  ]) {
    expect((await refusalOf(() => create(more))).refusal).toBe("forbidden");
  }
  expect(tokens.list(workspaceId, 1).total).toBe(3);
  await tokens.revoke(workspaceId, maker.token.id);
  expect((await refusalOf(() => create({}))).message).toBe("Token not found");
  const plain = await tokens.create(workspaceId, { name: "Plain", permissions: [] });
  expect("expiresAt" in plain.token).toBe(false);
});

test("a removed connection is restored with a free external id, and where there is room for it", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { connections } = catalog;
  const { id: sourceId } = await catalog.sources.create(workspaceId, { name: "Site" });
  const [lost, other, next] = [
    await destination(catalog, workspaceId),
    await destination(catalog, workspaceId),
    await destination(catalog, workspaceId),
  ];
  const connect = (destinationId: string) =>
    connections.create(workspaceId, { sourceId, destinationId, externalId: "hook" }, {});
  const made = await connect(lost);
  await catalog.destinations.remove(workspaceId, lost);
  await connect(other);
  const restore = (more: object = {}) =>
    connections.update(workspaceId, made.id, { destinationId: next, ...more }, {});
  const taken = await refusalOf(() => restore());
  expect(taken.message).toBe("Another item of this kind has the external id");
  catalog.setItemsMax({ connections: 1 });
  const full = await refusalOf(() => restore({ externalId: "" }));
  expect(full.message).toContain("workspace.connections");
  expect(connections.list(workspaceId, 1).total).toBe(1);
  catalog.setItemsMax({});
  const restored = await restore({ externalId: "" });
  expect([restored.id, restored.destinationId, restored.externalId]).toEqual([
    ...[made.id, next, undefined],
  ]);
  expect(connections.list(workspaceId, 1).total).toBe(2);
});

test("a destination keeps its filter until it is replaced or removed", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const filterOf = (path: string) => ({
    ...{ mode: "only" as const, conditions: [{ path, values: ["a"] }] },
  });
  const input = { name: "Sink", type: "file", config: {}, filter: filterOf("event") };
  const { id } = await catalog.destinations.create(workspaceId, input);
  const update = async (change: object) =>
    (await catalog.destinations.update(workspaceId, id, change, {})).filter;
  expect(await update({ name: "New" })).toEqual(filterOf("event"));
  expect(await update({ filter: filterOf("type") })).toEqual(filterOf("type"));
  expect(await update({ filter: null })).toBeUndefined();
  expect("filter" in catalog.destinations.get(workspaceId, id)).toBe(false);
});

test("a destination that rudder-server delivers has no lane", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const input = {
    name: "Sink",
    type: "WEBHOOK",
    config: {},
    deliveredBy: "rudder-server",
  } as const;
  const { id: destinationId } = await catalog.destinations.create(workspaceId, input);
  const { id: sourceId } = await catalog.sources.create(workspaceId, { name: "Site" });
  await catalog.connections.create(workspaceId, { sourceId, destinationId }, {});
  expect([catalog.live.lanes(), catalog.live.lane(destinationId)]).toEqual([[], undefined]);
  expect(catalog.live.destination(destinationId)).toMatchObject(input);
  expect(catalog.live.lane(newId())).toBeUndefined();
});

test("a credential's value has its limit, and a credential its own workspace", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { credentials } = catalog;
  const other = (await catalog.workspaces.create("Other")).id;
  const value = "v".repeat(CREDENTIAL_VALUE_CHARS_MAX);
  const { id } = await credentials.put(workspaceId, "key", value);
  const longer = await refusalOf(() => credentials.put(workspaceId, "key", `${value}v`));
  expect([longer.refusal, longer.details?.[0]?.path]).toEqual(["invalid", "/value"]);
  expect(catalog.live.credentials(workspaceId)).toEqual({ key: value });
  await credentials.put(other, "key", "theirs");
  expect((await refusalOf(() => credentials.remove(other, id))).refusal).toBe("missing");
  await credentials.remove(workspaceId, id);
  expect(catalog.live.credentials(workspaceId)).toEqual({});
  expect(catalog.live.credentials(other)).toEqual({ key: "theirs" });
});

test("code is listed once however much there is, in the order of its creation", async () => {
  const raw = openStore(await freshDirectory(), logger);
  onTestFinished(() => raw.close());
  const tables = openCodeTables(raw);
  const workspaceId = newId();
  const ids: string[] = [];
  const add = (count: number) =>
    raw.change(() => {
      for (let n = 0; n < count; n++) {
        const [id, newest] = [newId(), newId()];
        const common = { id, workspaceId, kind: "library", language: "javascript", newest };
        tables.putResource({ ...common, createdAt: 0, deleted: false } as Resource);
        ids.push(id);
      }
    });
  const listed = () => [...tables.drafts(workspaceId, "library")];
  expect(listed()).toEqual([]);
  for (const count of [999, 1, 1, 1_000]) {
    await add(count);
    expect(listed()).toEqual(ids);
  }
  expect(tables.count(workspaceId, "library")).toBe(2_001);
  expect([...tables.drafts(workspaceId, "transformation")]).toEqual([]);
});

test("modules with names that no library can have are published, and looked up nowhere", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { code } = catalog;
  const odd = ["x".repeat(10_000), "a\u0000b", ""];
  const library = await store(catalog, workspaceId, "library", { name: "Lib" });
  await publish(catalog, library);
  const user = await store(catalog, workspaceId, "transformation");
  await publish(catalog, user, [...odd, "lib"]);
  for (const name of odd) {
    expect(code.libraryByImportName(workspaceId, "javascript", name)).toBeUndefined();
    expect(code.importers(workspaceId, "javascript", name)).toEqual([]);
  }
  expect(code.importers(workspaceId, "javascript", "lib")).toHaveLength(1);
  expect(code.history(user).imports).toEqual([...odd, "lib"]);
  await code.remove(workspaceId, "transformation", user.id);
  expect(code.importers(workspaceId, "javascript", "lib")).toEqual([]);
});
