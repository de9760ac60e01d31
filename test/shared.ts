/** Counterparts that the test files of one process share, and that end with the process. */

const releases: (() => unknown)[] = [];

/** Runs `release` after the last test file of this process. */
export function onRunEnd(release: () => unknown): void {
  releases.push(release);
}

export async function releaseShared(): Promise<void> {
  for (const release of releases.splice(0).reverse()) await release();
}
