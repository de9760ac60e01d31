/** Thrown for a broken invariant: pixelmill itself has a bug. Input never causes this error. */
export class InvariantError extends Error {
  override readonly name = "InvariantError";
}

/**
 * Throws `InvariantError` when an invariant does not hold, in production too. An invariant must
 * hold whatever the input is. The error stops the request, the process or the delivery that broke
 * the invariant, so that it does not continue with wrong state.
 *
 * @example assert(cursor <= durableEnd, "Cursor is behind the durable end of the log");
 *
 * @param invariant what holds, in one sentence without a period at the end
 */
export function assert(holds: boolean, invariant: string): asserts holds {
  if (!holds) throw new InvariantError(`Broken invariant: ${invariant}`);
}
