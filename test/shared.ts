/** Counterparts that the test files of one process share, and that end with the process. */

const releases: (() => unknown)[] = [];

/** Runs `release` after the last test file of this process. */
export function onRunEnd(release: () => unknown): void {
  releases.push(release);
}

export async function releaseShared(): Promise<void> {
  for (const release of releases.splice(0).reverse()) await release();
}

/**
 * Words before a command whose process the kernel ends with the process that starts it, however
 * that one ends: a test that fails, or a benchmark at its time limit. None where `setpriv` is
 * missing.
 */
export const boundCommand: readonly string[] =
  Bun.which("setpriv") === null ? [] : ["setpriv", "--pdeathsig", "KILL"];
