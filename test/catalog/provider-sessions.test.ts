import { describe, expect, setSystemTime, test } from "bun:test";
import type { ProviderAccount } from "../../src/catalog/management/identities.ts";
import { SESSIONS_OF_TOKEN_MAX } from "../../src/settings/limits.ts";
import { destination, freshCatalog, freshWorkspace, publish, store } from "./_setup.ts";

const issuer = "https://id.example";
const account = (subject: string, more: Partial<ProviderAccount> = {}): ProviderAccount => ({
  identity: { issuer, subject },
  name: "Ada",
  email: "Ada@Example.com",
  isEmailVerified: true,
  role: "viewer" as ProviderAccount["role"],
  ...more,
});
const soon = () => Date.now() + 60_000;

describe("the first sign-in of an account", () => {
  test("creates its member, and later ones find the member again", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const member = await catalog.identities.admit(workspaceId, account("1"));
    expect(member).toMatchObject({
      ...{ workspaceId, name: "Ada", email: "Ada@Example.com", role: "member" },
      ...{ workspaceRole: "viewer", identity: { issuer, subject: "1" } },
      ...{ editTransformations: false, permissions: [] },
    });
    expect(catalog.members.get(workspaceId, member.id)).toEqual(member);
    expect(await catalog.identities.admit(workspaceId, account("1"))).toEqual(member);
    const renamed = await catalog.identities.admit(workspaceId, account("1", { name: "Countess" }));
    expect(renamed).toMatchObject({ id: member.id, name: "Countess" });
    expect(renamed.updatedAt).toBeGreaterThanOrEqual(member.updatedAt);
    // A second account with the same address is another member.
    const other = await catalog.identities.admit(workspaceId, account("2"));
    expect(other.id).not.toBe(member.id);
  });

  test("links it to the member with its address, if the provider has verified the address", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    await catalog.members.create(workspaceId, { name: "Bob", email: "bob@example.com" });
    const ada = await catalog.members.create(workspaceId, { name: "A", email: "ADA@example.com" });
    const isEmailVerified = false;
    const stranger = await catalog.identities.admit(workspaceId, account("1", { isEmailVerified }));
    expect(stranger.id).not.toBe(ada.id);
    const linked = await catalog.identities.admit(workspaceId, account("2"));
    expect(linked).toMatchObject({ id: ada.id, name: "Ada", createdAt: ada.createdAt });
  });

  test("creates no member beyond the limit of the workspace", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    catalog.setItemsMax({ members: 1 });
    await catalog.identities.admit(workspaceId, account("1"));
    const second = catalog.identities.admit(workspaceId, account("2"));
    await expect(second).rejects.toThrow("members");
  });
});

test("an account that may not sign in any more loses its role and its sessions, not its tokens", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { identities, sessions, tokens } = catalog;
  const member = await identities.admit(workspaceId, account("1"));
  const other = await identities.admit(workspaceId, account("2"));
  const begin = (id: string) => sessions.beginForMember(workspaceId, id, { expiresAt: soon() });
  const [gone, kept] = [await begin(member.id), await begin(other.id)];
  const own = await tokens.create(workspaceId, {
    ...{ name: "Own", permissions: ["events:read" as const] },
    memberId: member.id,
  });
  await identities.refuse(workspaceId, { issuer, subject: "unknown" });
  await identities.refuse(workspaceId, { issuer, subject: "1" });
  expect(catalog.members.get(workspaceId, member.id).workspaceRole).toBeUndefined();
  expect(sessions.authenticate(gone.secret)).toBeUndefined();
  expect(sessions.authenticate(kept.secret)).toBeDefined();
  expect(tokens.authenticate(own.secret)).toBeDefined();
  const before = catalog.members.get(workspaceId, member.id);
  await Bun.sleep(2);
  await identities.refuse(workspaceId, { issuer, subject: "1" });
  expect(catalog.members.get(workspaceId, member.id)).toEqual(before);
});

describe("the sessions of a member", () => {
  test("share one token, whose revocation ends them", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const { identities, sessions, tokens } = catalog;
    const member = await identities.admit(workspaceId, account("1"));
    const expiresAt = soon();
    const begin = () => sessions.beginForMember(workspaceId, member.id, { expiresAt });
    const [one, other] = [await begin(), await begin()];
    expect(one.principal).toMatchObject({ workspaceId, memberId: member.id, expiresAt });
    expect(other.principal.tokenId).toBe(one.principal.tokenId);
    expect(sessions.authenticate(one.secret)?.expiresAt).toBe(expiresAt);
    const [token] = tokens.list(workspaceId, 1).items;
    expect(token).toMatchObject({ name: "Single sign-on", memberId: member.id });
    await tokens.revoke(workspaceId, token!.id);
    for (const { secret } of [one, other]) expect(sessions.authenticate(secret)).toBeUndefined();
    await expect(sessions.beginForMember(workspaceId, "unknown", { expiresAt })).rejects.toThrow(
      "not found",
    );
  });

  test("end when there are too many, the oldest first", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const { identities, sessions } = catalog;
    const member = await identities.admit(workspaceId, account("1"));
    const begun = [];
    for (let n = 0; n <= SESSIONS_OF_TOKEN_MAX; n++) {
      begun.push(await sessions.beginForMember(workspaceId, member.id, { expiresAt: soon() }));
    }
    const alive = begun.map(({ secret }) => sessions.authenticate(secret) !== undefined);
    expect(alive).toEqual([false, ...begun.slice(1).map(() => true)]);
  });

  test("end not for sessions that have expired", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const { identities, sessions } = catalog;
    const member = await identities.admit(workspaceId, account("1"));
    const begin = (expiresAt: number) =>
      sessions.beginForMember(workspaceId, member.id, { expiresAt });
    const live = [];
    for (let n = 1; n < SESSIONS_OF_TOKEN_MAX; n++) live.push(await begin(soon()));
    await begin(Date.now() - 60_000);
    live.push(await begin(soon()));
    expect(live.filter(({ secret }) => sessions.authenticate(secret) === undefined)).toEqual([]);
  });

  test("need room for one more token of the workspace", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const member = await catalog.identities.admit(workspaceId, account("1"));
    catalog.setItemsMax({ tokens: 1 });
    const input = { name: "Ada", permissions: ["events:read" as const] };
    await catalog.tokens.create(workspaceId, input);
    const begin = catalog.sessions.beginForMember(workspaceId, member.id, { expiresAt: soon() });
    await expect(begin).rejects.toThrow("tokens");
  });
});

test("the provider ends its sessions by id, by account, or by both, in all workspaces", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { identities, sessions, workspaces, tokens } = catalog;
  const second = (await workspaces.create("Second")).id;
  const begin = async (of: string, subject: string, providerSession?: string) => {
    const { id } = await identities.admit(of, account(subject));
    const { secret } = await sessions.beginForMember(of, id, {
      expiresAt: soon(),
      ...(providerSession !== undefined && { providerSession }),
    });
    return secret;
  };
  const begun: Record<string, string> = {
    ada1: await begin(workspaceId, "ada", "s1"),
    ada2: await begin(workspaceId, "ada", "s2"),
    ada3: await begin(second, "ada", "s1"),
    ada4: await begin(workspaceId, "ada"),
    bob1: await begin(workspaceId, "bob", "s1"),
  };
  const ada = await identities.admit(workspaceId, account("ada"));
  const own = await tokens.create(workspaceId, {
    ...{ name: "Own", permissions: ["events:read" as const] },
    memberId: ada.id,
  });
  begun.own = (await sessions.begin(own.secret))!.secret;
  const alive = () =>
    Object.keys(begun).filter((name) => sessions.authenticate(begun[name]!) !== undefined);
  expect(await sessions.endProviderSessions({ issuer })).toBe(0);
  const elsewhere = { issuer: "https://other.example", providerSession: "s1" };
  expect(await sessions.endProviderSessions(elsewhere)).toBe(0);
  expect(alive()).toHaveLength(6);
  const both = { issuer, subject: "ada", providerSession: "s2" };
  expect(await sessions.endProviderSessions(both)).toBe(1);
  expect(alive()).toEqual(["ada1", "ada3", "ada4", "bob1", "own"]);
  expect(await sessions.endProviderSessions({ issuer, providerSession: "s1" })).toBe(3);
  expect(alive()).toEqual(["ada4", "own"]);
  expect(await sessions.endProviderSessions({ issuer, subject: "ada" })).toBe(1);
  expect(alive()).toEqual(["own"]);
});

test("the routing reads the published link of a destination, and the published libraries", async () => {
  const catalog = await freshCatalog();
  const { id: workspaceId } = await catalog.workspaces.create("Shop");
  const { routing } = catalog;
  const destinationId = await destination(catalog, workspaceId);
  expect(routing.publishedLink(destinationId)).toBeUndefined();
  const code = { code: "export const a = 1;" };
  const library = await store(catalog, workspaceId, "library", { name: "Lib", ...code });
  const unpublished = await store(catalog, workspaceId, "library", { name: "Draft", ...code });
  expect(routing.publishedLibraries(workspaceId)).toEqual([]);
  await publish(catalog, library);
  expect(routing.publishedLibraries(workspaceId)).toEqual([library.versionId]);
  expect(routing.publishedLibraries(workspaceId)).not.toContain(unpublished.versionId);

  const revision = await store(catalog, workspaceId, "transformation");
  const { id, versionId } = revision;
  const before = { topology: routing.topology(), programs: routing.programs() };
  await publish(catalog, revision);
  expect(routing.programs()).toBeGreaterThan(before.programs);
  expect(routing.publishedLink(destinationId)).toBeUndefined();
  await catalog.code.commit(workspaceId, {
    ...{ revisions: [], publish: [], usedLibraries: [] },
    links: [{ destinationId, transformationId: id }] as never,
  });
  expect(routing.topology()).toBeGreaterThan(before.topology);
  expect(routing.publishedLink(destinationId)).toEqual({ id, versionId, language: "javascript" });
});

test("changes of a member by sign-ins have ascending times although the clock is set back", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const member = await catalog.identities.admit(workspaceId, account("1"));
  setSystemTime(member.updatedAt - 3_600_000);
  try {
    const renamed = await catalog.identities.admit(workspaceId, account("1", { name: "Countess" }));
    expect(renamed.updatedAt).toBeGreaterThan(member.updatedAt);
    await catalog.identities.refuse(workspaceId, account("1").identity);
    const refused = catalog.members.get(workspaceId, member.id);
    expect(refused.updatedAt).toBeGreaterThan(renamed.updatedAt);
  } finally {
    setSystemTime();
  }
});
