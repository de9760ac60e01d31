/** Settles as `promise` does, or rejects with the error from `late` after `ms` milliseconds. */
export async function withTimeLimit<T>(
  promise: Promise<T>,
  ms: number,
  late: () => Error,
): Promise<T> {
  const { promise: expired, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(late()), ms);
  try {
    return await Promise.race([promise, expired]);
  } finally {
    clearTimeout(timer);
  }
}
