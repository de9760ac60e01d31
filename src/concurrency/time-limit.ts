/**
 * Settles as `promise` does, or rejects with the error from `late` if `promise` takes more than
 * `ms` milliseconds. If this process stood still meanwhile (for example, the machine was
 * suspended), a result that arrived during the standstill still counts.
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
