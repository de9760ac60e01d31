/**
 * Settles as `promise` does, or rejects with the error from `late` after `ms` milliseconds. A
 * result that arrived while this process was suspended still counts.
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
