import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { syncPath } from "../disk/sync.ts";
import { messageOf, StartError } from "../errors.ts";
import { expectDataDirectory, holdFile } from "../first-start/data-directory.ts";
import type { Config } from "../settings/keys.ts";
import type { ArchiveSource } from "./archive-source.ts";
import { type BackupContents, verify } from "./verify.ts";

/**
 * Restores a backup into a new data directory, which is created only on success. With `hold`, a
 * server delivers nothing from it until `release` is called. Without `hold`, events delivered since
 * the backup are delivered twice.
 */
export async function restore(
  config: Config,
  archive: ArchiveSource,
  hold: boolean,
): Promise<BackupContents> {
  const target = resolve(config.data);
  if (existsSync(target) && readdirSync(target).length > 0) {
    throw new StartError(`Expected ${target} to be empty or absent, but it has content`);
  }
  const staging = join(dirname(target), `.${basename(target)}.${process.pid}`);
  try {
    mkdirSync(staging, { recursive: true, mode: 0o700 });
    const contents = await verify(archive, staging);
    const held = { ...config, data: staging };
    if (hold) writeFileSync(holdFile(held), "", { flush: true });
    expectDataDirectory(held);
    syncPath(staging);
    renameSync(staging, target);
    syncPath(dirname(target));
    return contents;
  } catch (error) {
    if (error instanceof StartError) throw error;
    throw new StartError(`Cannot restore ${archive.name}: ${messageOf(error)}`);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

/**
 * Lets the server of a restored data directory deliver events. Returns false if deliveries were not
 * on hold.
 */
export function release(config: Config): boolean {
  const path = holdFile(config);
  const held = existsSync(path);
  rmSync(path, { force: true });
  return held;
}
