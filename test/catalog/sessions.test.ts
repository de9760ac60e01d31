import { expect, setSystemTime, test } from "bun:test";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { SESSION_SECONDS_MAX, SESSIONS_OF_TOKEN_MAX } from "../../src/settings/limits.ts";
import { freshCatalog, freshDirectory, freshWorkspace } from "./_setup.ts";

const input = { name: "Ada", permissions: ["events:read" as const] };

test("a session has the permissions of its token and expires", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { token, secret } = await catalog.tokens.create(workspaceId, input);
  const begun = await catalog.sessions.begin(secret);
  const { expiresAt, ...principal } = catalog.sessions.authenticate(begun!.secret)!;
  expect(principal).toEqual({
    workspaceId,
    tokenId: token.id,
    permissions: new Set(input.permissions),
  });
  const seconds = (expiresAt! - Date.now()) / 1_000;
  expect(seconds).toBeGreaterThan(SESSION_SECONDS_MAX - 60);
  expect(seconds).toBeLessThanOrEqual(SESSION_SECONDS_MAX);
  // Neither stands for the other.
  expect(catalog.tokens.authenticate(begun!.secret)).toBeUndefined();
  expect(catalog.sessions.authenticate(secret)).toBeUndefined();
  expect(await catalog.sessions.begin(begun!.secret)).toBeUndefined();
});

test("a session ends with its token, with its member, and by sign-out", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { sessions, tokens, members } = catalog;
  const [kept, revoked, left] = await Promise.all(
    [1, 2, 3].map(() => tokens.create(workspaceId, input)),
  );
  const member = await members.create(workspaceId, { name: "Ada", email: "a@b.c" });
  const personal = await tokens.create(workspaceId, { ...input, memberId: member.id });
  const begin = async (token: string) => (await sessions.begin(token))!.secret;
  const secrets = {
    kept: await begin(kept!.secret),
    revoked: await begin(revoked!.secret),
    left: await begin(left!.secret),
    personal: await begin(personal.secret),
  };
  await tokens.revoke(workspaceId, revoked!.token.id);
  await members.remove(workspaceId, member.id);
  await sessions.end(secrets.left);
  await sessions.end(secrets.left);
  await sessions.end("nonsense");
  expect(sessions.authenticate(secrets.kept)?.tokenId).toBe(kept!.token.id);
  for (const gone of [secrets.revoked, secrets.left, secrets.personal, "", "pms_x"]) {
    expect(sessions.authenticate(gone)).toBeUndefined();
  }
  expect(await sessions.begin(revoked!.secret)).toBeUndefined();
});

test("a session lasts no longer than its token", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const expiresAt = Date.now() + 3_600_000;
  const { secret } = await catalog.tokens.create(workspaceId, { ...input, expiresAt });
  const begun = (await catalog.sessions.begin(secret))!;
  expect(begun.principal.expiresAt).toBe(expiresAt);
  expect(catalog.sessions.authenticate(begun.secret)).toBeDefined();
  setSystemTime(expiresAt);
  try {
    expect(catalog.sessions.authenticate(begun.secret)).toBeUndefined();
  } finally {
    setSystemTime();
  }
});

test("a session that began while the clock was ahead ends no other", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { secret } = await catalog.tokens.create(workspaceId, input);
  const begun = (await catalog.sessions.begin(secret))!;
  setSystemTime(begun.principal.expiresAt!);
  try {
    await catalog.sessions.begin(secret);
  } finally {
    setSystemTime();
  }
  expect(catalog.sessions.authenticate(begun.secret)).toBeDefined();
});

test("a session expires before its token", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { secret } = await catalog.tokens.create(workspaceId, input);
  const begun = (await catalog.sessions.begin(secret))!;
  setSystemTime(begun.principal.expiresAt!);
  try {
    expect(catalog.sessions.authenticate(begun.secret)).toBeUndefined();
    expect(catalog.tokens.authenticate(secret)).toBeDefined();
  } finally {
    setSystemTime();
  }
});

test("a token's oldest session ends when it has too many", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { secret } = await catalog.tokens.create(workspaceId, input);
  const secrets: string[] = [];
  for (let i = 0; i < SESSIONS_OF_TOKEN_MAX + 2; i++) {
    secrets.push((await catalog.sessions.begin(secret))!.secret);
    // Each begins in another millisecond.
    await Bun.sleep(2);
  }
  const living = secrets.map((it) => catalog.sessions.authenticate(it) !== undefined);
  expect(living).toEqual([false, false, ...Array(SESSIONS_OF_TOKEN_MAX).fill(true)]);
});

test("a session survives a restart, and its secret is not on disk", async () => {
  const directory = await freshDirectory();
  const catalog = await freshCatalog(directory);
  const { id } = await catalog.workspaces.create("Acme");
  const { secret } = await catalog.tokens.create(id, input);
  const begun = (await catalog.sessions.begin(secret))!;
  await catalog.close();
  for (const file of await readdir(directory)) {
    expect((await readFile(join(directory, file))).includes(begun.secret)).toBe(false);
  }
  const again = await freshCatalog(directory);
  expect(again.sessions.authenticate(begun.secret)?.workspaceId).toBe(id);
});
