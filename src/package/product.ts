/**
 * The product that packages contain, the time of its files, and functions that all package makers
 * use.
 */
import { join } from "node:path";

/** Processor architecture, by the name in Node.js and lmdb. */
export type Architecture = "x64" | "arm64";

export const ROOT = join(import.meta.dir, "../..");

export interface Product {
  version: string;
  architecture: Architecture;
  /** Time that every file in a package gets, in seconds since the epoch; see `packageTime`. */
  time: number;
  executable: Uint8Array<ArrayBuffer>;
}

export interface PackedFile {
  /** Path within the package, without a slash at its beginning. */
  path: string;
  mode: number;
  content: Uint8Array<ArrayBuffer> | string;
}

/** Returns a file for a package. Every user may read the file (mode 644). */
export const textFile = (path: string, content: PackedFile["content"]): PackedFile => ({
  path,
  mode: 0o644,
  content,
});

/** Architecture names in Debian packages and images, by the name in Node.js. */
export const debianNames: Record<Architecture, "amd64" | "arm64"> = {
  x64: "amd64",
  arm64: "arm64",
};

/** Runs a command and returns its output. Throws when it is not installed or fails. */
export function output(
  command: string[],
  { cwd = ROOT, env = {} }: { cwd?: string; env?: Record<string, string> } = {},
): string {
  if (Bun.which(command[0]!) === null) throw new Error(`Expected ${command[0]} to be installed`);
  const options = { cwd, env: { ...process.env, ...env } };
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, options);
  if (exitCode === 0) return stdout.toString();
  throw new Error(`${command.join(" ")} failed: ${stderr.toString().trim()}`);
}

/**
 * Returns the time that all files in packages get: `SOURCE_DATE_EPOCH`, or the time of the commit.
 * Throws when there is neither.
 */
export function packageTime(): number {
  const given =
    process.env.SOURCE_DATE_EPOCH ?? output(["git", "log", "-1", "--format=%ct"]).trim();
  if (/^\d{1,12}$/.test(given)) return Number(given);
  throw new Error(
    `Expected SOURCE_DATE_EPOCH to be seconds since 1970, or a commit of git, got ${given || "neither"}`,
  );
}
