import { expect, test } from "bun:test";
import { withExternalId } from "../../src/catalog/external-id.ts";
import {
  boundedEnd,
  effectivePermissions,
  expectOwnMember,
  expectOwnPermissions,
  type Grantor,
} from "../../src/catalog/management/grants.ts";
import { highestRole, permissionsOf } from "../../src/catalog/management/roles.ts";
import {
  type Member,
  type Permission,
  permissions,
  type WorkspaceRole,
} from "../../src/catalog/model.ts";
import { refusalOf } from "./_setup.ts";

const grantor = (own: readonly Permission[], memberId?: string): Grantor => ({
  tokenId: "t",
  permissions: new Set(own),
  ...(memberId !== undefined && { memberId }),
});

test("administrators read the audit log, other callers only by that permission", () => {
  for (const permission of permissions) {
    const effective = [...effectivePermissions(new Set([permission]))];
    const more = permission === "workspace:admin" ? ["audit:read"] : [];
    expect(effective).toEqual([permission, ...more] as Permission[]);
  }
});

test("a caller gives only permissions that it has, the operator gives all", () => {
  const own = grantor(["events:read", "audit:read"]);
  expect(() => expectOwnPermissions(["audit:read"], own)).not.toThrow();
  expect(() => expectOwnPermissions([], own)).not.toThrow();
  expect(() => expectOwnPermissions(permissions, undefined)).not.toThrow();
  const more: Permission[] = ["events:replay", "audit:read", "workspace:admin"];
  expect(() => expectOwnPermissions(more, own)).toThrow(
    "The token lacks the permission events:replay and workspace:admin",
  );
});

test("a member's token is made by the member, by callers with all permissions and by the operator", () => {
  const refusal = "Expected all permissions for a token of another member";
  expect(() => expectOwnMember("a", grantor([], "a"))).not.toThrow();
  expect(() => expectOwnMember("a", grantor(permissions, "b"))).not.toThrow();
  expect(() => expectOwnMember("a", grantor(permissions))).not.toThrow();
  expect(() => expectOwnMember("a", undefined)).not.toThrow();
  for (const missing of permissions) {
    const most = permissions.filter((it) => it !== missing);
    expect(() => expectOwnMember("a", grantor(most, "b"))).toThrow(refusal);
  }
});

test.each([
  [undefined, undefined, undefined],
  [5, undefined, 5],
  [undefined, 7, 7],
  [6, 7, 6],
  [7, 7, 7],
  [8, 7, "refused"],
])("a token that is to end at %p, of one that ends at %p, ends at %p", (end, own, expected) => {
  const found = () => boundedEnd(end, own);
  if (expected === "refused") expect(found).toThrow("not later than that of the caller's own");
  else expect(found()).toBe(expected as number | undefined);
});

test("an external id is taken, changed and removed, and refused when it is of another item", async () => {
  const item = { id: "1", workspaceId: "w", name: "n" };
  const owner = (workspaceId: string, externalId: string) =>
    workspaceId === "w" ? { e: "1", taken: "2" }[externalId] : undefined;
  const given = (externalId?: string, before?: string, by?: typeof owner) => {
    const thing = { ...item, ...(before !== undefined && { externalId: before }) };
    const change = externalId === undefined ? {} : { externalId };
    return withExternalId(thing, change, by);
  };
  expect(given("e")).toEqual({ ...item, externalId: "e" });
  expect(given("e", undefined, owner)).toEqual({ ...item, externalId: "e" });
  expect(given("free", undefined, owner)).toEqual({ ...item, externalId: "free" });
  expect(given("f", "e")).toEqual({ ...item, externalId: "f" });
  expect(given(undefined, "e", owner)).toEqual({ ...item, externalId: "e" });
  expect(given("e", "e", () => "2")).toEqual({ ...item, externalId: "e" });
  expect(given("", "e", owner)).toStrictEqual(item);
  expect(given("", undefined, owner)).toStrictEqual(item);
  const refused = (...args: Parameters<typeof given>) => refusalOf(async () => given(...args));
  expect(await refused("taken", undefined, owner)).toMatchObject({ refusal: "conflict" });
  expect(await refused("free", "e", owner)).toMatchObject({ refusal: "conflict" });
  expect(() => given("free", "e", owner)).toThrow("It has another external id already");
  expect(() => given("taken", undefined, owner)).toThrow("Another item of this kind");
});

const member = (more: Partial<Member>): Member => ({
  ...{ id: "m", workspaceId: "w", name: "Ada", email: "ada@example.com", permissions: [] },
  ...{ role: "member", editTransformations: false, createdAt: 0, updatedAt: 0, ...more },
});

test("a member has its own permissions, and those of its roles", () => {
  const own = (more: Partial<Member>) => [...permissionsOf(member(more))].sort();
  const api: Permission[] = [
    "destinations:connect",
    "libraries:edit",
    "transformations:connect",
    "transformations:create-delete",
    "transformations:edit",
  ];
  const all: Permission[] = [
    ...["audit:read", ...api.slice(0, 1), "events:read", "events:replay", ...api.slice(1)],
    ...["workspace-config:read", "workspace:admin"],
  ] as Permission[];
  const table: [more: Partial<Member>, permissions: Permission[]][] = [
    [{}, []],
    [{ permissions: ["audit:read"] }, ["audit:read"]],
    [{ role: "admin" }, []],
    [{ editTransformations: true }, []],
    [{ role: "admin", editTransformations: true }, api],
    [{ workspaceRole: "viewer" }, ["events:read"]],
    [{ workspaceRole: "viewer", permissions: ["audit:read"] }, ["audit:read", "events:read"]],
    [{ workspaceRole: "developer" }, [...api, "events:read" as const].sort()],
    [
      { workspaceRole: "operator" },
      [...api, "events:read" as const, "events:replay" as const].sort(),
    ],
    [{ workspaceRole: "admin" }, all],
  ];
  for (const [more, expected] of table) expect(own(more)).toEqual(expected);
});

test.each([
  [[], undefined],
  [["viewer"], "viewer"],
  [["operator", "viewer", "developer"], "operator"],
  [["viewer", "admin", "operator"], "admin"],
  [["developer", "developer"], "developer"],
] as [WorkspaceRole[], WorkspaceRole | undefined][])(
  "the highest of the roles %j is %p",
  (roles, highest) => expect(highestRole(roles)).toBe(highest),
);
