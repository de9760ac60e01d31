/**
 * Returns a function that calls `make` and shares its result. Further calls get the same result
 * while `make` runs, and for `keptMs` milliseconds after it has ended. If `make` has failed, the
 * next call runs it again.
 */
export function recentResult<T>(
  keptMs: number,
  make: () => Promise<T>,
  now: () => number = () => performance.now(),
): () => Promise<T> {
  let recent: Promise<T> | undefined;
  let endsAt = Number.POSITIVE_INFINITY;

  return () => {
    if (recent !== undefined && now() < endsAt) return recent;
    endsAt = Number.POSITIVE_INFINITY;
    const made = make();
    recent = made;
    made.then(
      () => {
        endsAt = now() + keptMs;
      },
      () => {
        recent = undefined;
      },
    );
    return made;
  };
}
