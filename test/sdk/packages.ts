import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Missing, missingPrograms } from "../counterpart.ts";

/**
 * Folder with the installed SDKs. `install.sh` installs those that are missing; a test whose SDK
 * cannot be installed is skipped.
 */
export const packages = Bun.spawnSync(["sh", join(import.meta.dir, "install.sh")], {
  stdin: "ignore",
})
  .stdout.toString()
  .trim();

export const programs = join(import.meta.dir, "programs");

/** The reason why SDKs of a language cannot run here; undefined when they can. */
export function languageMissing(
  folder: "npm" | "python" | "go" | "java",
  program: string,
): Missing {
  return (
    missingPrograms(program) ??
    (existsSync(join(packages, folder)) ? undefined : `SDKs of ${folder} cannot be installed`)
  );
}
