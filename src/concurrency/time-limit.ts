/**
 * Settles as `promise` does, or rejects with the error from `late` after `ms` milliseconds. If this
 * process was paused, a result that arrived during the pause still counts, even if the time is
 * over.
 */
export async function withTimeLimit<T>(
  promise: Promise<T>,
  ms: number,
  late: () => Error,
): Promise<T> {
  const { promise: expired, reject } = Promise.withResolvers<never>();
  let timer = setTimeout(() => {
    timer = setTimeout(() => reject(late()));
  }, ms);
  try {
    return await Promise.race([promise, expired]);
  } finally {
    clearTimeout(timer);
  }
}
