import type { Catalog } from "../catalog/catalog.ts";
import { permissions, type Token, type Workspace } from "../catalog/model.ts";
import { ApiError, StartError } from "../errors.ts";
import type { Config } from "../settings/keys.ts";

const SETTING_TOKEN = "admin.token setting";

interface FirstWorkspaceOptions {
  name: string;
  /** Value of the setting `admin.token`; undefined when it is not set. */
  adminToken: string | undefined;
  /**
   * Reads and writes a marker on disk, which is set from the creation of an admin token until the
   * token is printed.
   */
  unprintedToken: { get(): boolean; set(isUnprinted: boolean): void };
  print(line: string): void;
}

/**
 * Returns the first workspace, and creates it if there is none. Its admin token is the setting
 * `admin.token`; a changed setting replaces the token. Without the setting, a token is generated
 * and printed once. If a start is interrupted before printing, the next one prints a new token.
 */
export async function firstWorkspace(
  catalog: Catalog,
  options: FirstWorkspaceOptions,
): Promise<Workspace> {
  const { name, adminToken, unprintedToken, print } = options;
  const wasUnseen = unprintedToken.get();
  if (catalog.workspaces.list(1).length === 0 && adminToken === undefined) unprintedToken.set(true);
  const { workspace, isMade } = await catalog.workspaces.first(name);
  // Another node created the workspace first, and prints the token.
  if (!isMade && !wasUnseen && unprintedToken.get()) unprintedToken.set(false);
  if (adminToken !== undefined) {
    await setToken(catalog, workspace.id, adminToken);
  } else if (unprintedToken.get()) {
    const admin = { name: "admin", permissions: [...permissions] };
    const { secret } = await catalog.tokens.create(workspace.id, admin);
    print(`admin token ${secret} (shown this once)`);
  }
  if (unprintedToken.get()) unprintedToken.set(false);
  return workspace;
}

/**
 * Throws `StartError` if the cluster that a new node joins has a token from the setting
 * `admin.token`, and the node's own setting is not valid there, because the node would replace the
 * cluster's token.
 */
export function expectSameToken(
  catalog: Catalog,
  { "admin.token": adminToken, "cluster.name": cluster }: Config,
): void {
  if (adminToken === undefined || catalog.tokens.authenticate(adminToken)) return;
  const all = catalog.workspaces.list().flatMap(({ id }) => tokensOf(catalog, id));
  if (!all.some(({ name }) => name === SETTING_TOKEN)) return;
  throw new StartError(
    `Expected the admin.token of the cluster ${cluster}, whose nodes have another one: a second cluster needs another cluster.name and data directory; to change the token, restart a node that was in the cluster before, or revoke the token \`${SETTING_TOKEN}\` first`,
  );
}

async function setToken(catalog: Catalog, workspaceId: string, secret: string): Promise<void> {
  if (catalog.tokens.authenticate(secret)) return;
  const before = tokensOf(catalog, workspaceId).filter(({ name }) => name === SETTING_TOKEN);
  for (const token of before) {
    await catalog.tokens.revoke(workspaceId, token.id).catch(ignoreConcurrentChange);
  }
  const input = { name: SETTING_TOKEN, permissions: [...permissions], secret };
  await catalog.tokens.create(workspaceId, input).catch(ignoreConcurrentChange);
}

/**
 * Ignores an `ApiError` whose `refusal` is `missing` or `conflict`: another node that starts with
 * the same setting has already made the same change. Throws any other error again.
 */
function ignoreConcurrentChange(error: unknown): void {
  const isDone = error instanceof ApiError && ["missing", "conflict"].includes(error.refusal);
  if (!isDone) throw error;
}

function tokensOf(catalog: Catalog, workspaceId: string): Token[] {
  const tokens: Token[] = [];
  for (let page = 1; ; page++) {
    const { items } = catalog.tokens.list(workspaceId, page);
    if (items.length === 0) return tokens;
    tokens.push(...items);
  }
}
