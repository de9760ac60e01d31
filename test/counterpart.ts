import { describe, test } from "bun:test";
import { existsSync } from "node:fs";

/**
 * Counterparts of tests: programs, servers and rights that a machine may lack. A test without its
 * counterpart is skipped, and its title says why.
 */

/** The reason why a counterpart cannot be used on this machine; undefined when it can. */
export type Missing = string | undefined;

/** `test` where the counterpart is there, else a skipped test with the reason in its title. */
export function testWith(missing: Missing): Declare {
  return (title, run, timeoutMs) =>
    test.skipIf(missing !== undefined)(titled(title, missing), run, timeoutMs);
}

/** `describe` where the counterpart is there, else skipped with the reason in its title. */
export function describeWith(missing: Missing): (title: string, declare: () => void) => void {
  return (title, declare) =>
    describe.skipIf(missing !== undefined)(titled(title, missing), declare);
}

/** The runner lists the reasons of all skipped tests by this suffix. */
export const titled = (title: string, missing: Missing) =>
  missing === undefined ? title : `${title} (skipped: ${missing})`;

/** The first reason of several. */
export const firstMissing = (...reasons: Missing[]): Missing =>
  reasons.find((reason) => reason !== undefined);

export function missingPrograms(...names: string[]): Missing {
  const missing = names.filter((name) => Bun.which(name) === null);
  return missing.length === 0 ? undefined : `${missing.join(", ")} not installed`;
}

export const rootMissing: Missing = process.getuid?.() === 0 ? undefined : "not root";

/** Runs a command; the reason when it cannot run or fails. */
export function failureOf(...command: string[]): Missing {
  const missing = missingPrograms(command[0]!);
  if (missing !== undefined) return missing;
  const { exitCode, stderr } = Bun.spawnSync(command, { stdout: "ignore" });
  if (exitCode === 0) return undefined;
  return `${command[0]} fails: ${stderr.toString().trim().split("\n")[0]}`;
}

export const missingFile = (path: string): Missing =>
  existsSync(path) ? undefined : `${path} does not exist`;

type Body = (() => void) | (() => Promise<unknown>);
type Declare = (title: string, run: Body, timeoutMs?: number) => void;
