import type { Catalog } from "./catalog/catalog.ts";
import { permissions, type Token, type Workspace } from "./catalog/model.ts";

const SETTING_TOKEN = "admin.token setting";

/**
 * The workspace of a fresh data directory with its admin token: generated and printed once, or
 * the one of the setting `admin.token`. A changed setting replaces the token it set before.
 */
export async function firstWorkspace(
  catalog: Catalog,
  options: { name: string; adminToken: string | undefined; print(line: string): void },
): Promise<Workspace> {
  const existing = catalog.workspaces.list()[0];
  const workspace = existing ?? (await catalog.workspaces.create(options.name));
  if (options.adminToken !== undefined) {
    await setToken(catalog, workspace.id, options.adminToken);
  } else if (!existing) {
    const { secret } = await catalog.tokens.create(workspace.id, {
      name: "admin",
      permissions: [...permissions],
    });
    options.print(`admin token ${secret} (shown this once)`);
  }
  return workspace;
}

async function setToken(catalog: Catalog, workspaceId: string, secret: string): Promise<void> {
  if (catalog.tokens.authenticate(secret)) return;
  const before = tokensOf(catalog, workspaceId).filter(({ name }) => name === SETTING_TOKEN);
  for (const token of before) await catalog.tokens.revoke(workspaceId, token.id);
  await catalog.tokens.create(workspaceId, {
    name: SETTING_TOKEN,
    permissions: [...permissions],
    secret,
  });
}

function tokensOf(catalog: Catalog, workspaceId: string): Token[] {
  const tokens: Token[] = [];
  for (let page = 1; ; page++) {
    const { items } = catalog.tokens.list(workspaceId, page);
    if (items.length === 0) return tokens;
    tokens.push(...items);
  }
}
