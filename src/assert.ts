/** Thrown for a broken invariant: pixelmill itself has a bug. Input never causes this error. */
export class InvariantError extends Error {
  override readonly name = "InvariantError";
}

/**
 * Throws `InvariantError` if an invariant, which must hold for any input, does not hold. Active in
 * production too: the request, process or delivery that broke the invariant stops instead of
 * working with wrong state.
 *
 * @example assert(cursor <= durableEnd, "Cursor is behind the durable end of the log");
 *
 * @param invariant what holds, in one sentence without a period at the end
 */
export function assert(holds: boolean, invariant: string): asserts holds {
  if (!holds) throw new InvariantError(`Broken invariant: ${invariant}`);
}
