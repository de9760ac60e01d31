/**
 * Returns a function that shares results: a call within `keptMs` milliseconds after the last
 * result, or during a call of `make`, gets the same result. After an error, the next call tries
 * again.
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
