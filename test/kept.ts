import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

/**
 * Path outside the tree, the same for every checkout, of a file or a directory that tests need and
 * that takes long to make. `parts` are values that it depends on beside its name.
 */
export function keptPath(name: string, ...parts: unknown[]): string {
  const root = process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache");
  const hash = parts.length === 0 ? "" : `-${Bun.hash(JSON.stringify(parts)).toString(36)}`;
  return join(root, "pixelmill", `${name}${hash}`);
}

/**
 * Makes `kept` by a call of `make` with another path, whose file or directory becomes `kept` when
 * it is whole. Other tests may make the same at this time.
 */
export async function keep(kept: string, make: (part: string) => unknown): Promise<void> {
  mkdirSync(dirname(kept), { recursive: true });
  const part = `${kept}-${process.pid}`;
  try {
    await make(part);
    renameSync(part, kept);
  } catch (error) {
    if (!existsSync(kept)) throw error;
  } finally {
    rmSync(part, { recursive: true, force: true });
  }
}
